package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/config"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/exit"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/output"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/pins"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/session"
	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/internal/lockfile"
	"github.com/toolhost/toolhost/internal/safefile"
	"github.com/toolhost/toolhost/internal/sanitize"
	"github.com/toolhost/toolhost/internal/trust"
	"github.com/toolhost/toolhost/internal/trusted"
)

func printImport(s *session.Session, report importReport, entries, levels [][]string) error {
	text, err := insertImport("", entries, levels)
	if err != nil {
		return err
	}
	if report.Text = text; s.Flags.JSON {
		return s.Out.JSON(report)
	}
	s.Out.Printf("%s", text)
	noteVariables(s, report)
	return nil
}

// insertImport returns the text of a configuration file with what is imported.
func insertImport(text string, entries, levels [][]string) (string, error) {
	text, err := config.Insert(text, "mcp_servers", entries)
	if err != nil {
		return "", err
	}
	return config.Insert(text, "tools", levels)
}

// writeImport adds lines to the configuration file, if that counts, and returns its path.
func writeImport(s *session.Session, entries, levels [][]string) (string, error) {
	path, _, err := s.Flags.ConfigPath()
	if err != nil {
		return "", err
	}
	before, err := trusted.Read(path, config.MaxSize)
	missing := errors.Is(err, fs.ErrNotExist)
	switch {
	case err != nil && !missing:
		return "", exit.With(exit.BadUsage, err)
	case !missing && s.Settings().Config.File == "":
		return "", exit.Usage(sanitize.Text(path)+" is not trusted as it is, and was left so", "look at it, and: toolhost trust")
	case !missing && trust.Sum(before) != s.Settings().Config.Digest():
		return "", exit.With(exit.Refused, session.Held(path)) // it has changed since this command read it
	}
	text, err := insertImport(string(before), entries, levels)
	if err != nil {
		return "", exit.With(exit.BadUsage, err)
	}
	after, err := config.Parse(path, []byte(text))
	if err == nil {
		err = onlyServers(s.Settings().Config, after)
	}
	if err != nil {
		return "", exit.Usage(sanitize.Text(path)+" was left as it is: "+output.FirstLine(err.Error()),
			"add the lines by hand: --print shows them")
	}
	write := safefile.Replace
	if missing {
		write = safefile.Create
	}
	if err := write(path, []byte(text), 0o600); err != nil {
		return "", exit.With(exit.Failed, fmt.Errorf("%s was not written: %w", sanitize.Text(path), err))
	}
	s.Trust(path, after.Digest())
	return path, nil
}

// onlyServers reports whether two configurations differ in servers and tools only.
func onlyServers(before, after *config.Config) error {
	d := config.Diff(before, after)
	changed := len(d.Host) + len(d.Defaults) + len(d.Callers)
	for _, keys := range d.Plugins {
		changed += len(keys)
	}
	if changed > 0 {
		return errors.New("its other settings would change")
	}
	return nil
}

// finishImport pins what was accepted, if there is a lock of it, and says what is to be done.
func finishImport(ctx context.Context, s *session.Session, report importReport, seen *lockfile.Lock) error {
	if err := s.Configure(true); err != nil {
		return err
	}
	if !s.Flags.JSON {
		s.Out.Printf("servers written to %s: %d\n", sanitize.Text(report.File), len(report.Servers))
	}
	err := pinImported(ctx, s, &report, seen)
	if s.Flags.JSON {
		return s.Out.Report(report, err)
	}
	noteVariables(s, report)
	return err
}

// pinImported adds the pins of servers to the lock. The first lock has all plugins, as what is
// not in it does not run.
func pinImported(ctx context.Context, s *session.Session, report *importReport, seen *lockfile.Lock) error {
	if seen == nil {
		return nil
	}
	rules, err := s.LockRules(s.Settings())
	switch {
	case err != nil:
		return err
	case rules.Off:
		s.Notef("the configuration says lock: off, so the definitions that you accepted are not pinned")
		return nil
	}
	now, err := s.ReadLock(rules.File)
	if errors.Is(err, fs.ErrNotExist) {
		var found *inspection
		if found, err = inspect(ctx, s, nil, session.Needs{Options: []host.Option{host.WithLocks()}, Writes: rules.File}); err == nil {
			now, _ = found.pinned(nil)
			for _, n := range found.wanting(now) { // which is asked by plugins lock
				e := now.Plugins[n.Plugin]
				e.Needs = ""
				now.Plugins[n.Plugin] = e
			}
		}
	}
	if err != nil {
		return err
	}
	maps.Copy(now.Plugins, seen.Plugins)
	if err := s.WriteLock(now, rules.File); err != nil {
		return err
	}
	_, err = pins.Pin(rules.File, s.Settings().Dirs.Paths)
	if report.Lock = rules.File; !s.Flags.JSON {
		s.Out.Printf("%d plugins and servers are pinned in %s\n", len(now.Plugins), sanitize.Text(rules.File))
	}
	s.ReloadDaemon(ctx)
	return err
}

func noteVariables(s *session.Session, report importReport) {
	for _, v := range report.Variables {
		s.Err.Printf("set %s in the environment of toolhost: %s\n", v.Name, sanitize.Line(v.For, 0))
	}
}
