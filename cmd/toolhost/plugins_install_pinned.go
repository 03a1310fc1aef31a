package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/exit"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/installer"
	"github.com/toolhost/toolhost/internal/lockfile"
	"github.com/toolhost/toolhost/internal/pluginsource"
	"github.com/toolhost/toolhost/internal/sanitize"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// syncStep is what is to be done about a plugin.
type syncStep struct {
	Plugin  string `json:"plugin"`
	Version string `json:"version"`
	// Before is the version that is in place. Empty: none is.
	Before string `json:"before,omitempty"`
	// Action is install, upgrade, downgrade, reinstall, or none.
	Action installer.Action `json:"action"`
	Source string           `json:"source"`
	// Served and Reason are as in plugins install.
	Served string `json:"served,omitempty"`
	Reason string `json:"reason,omitempty"`
	Error  string `json:"error,omitempty"`
	// Notices are what is to be known of the version, by what was last found out.
	Notices []string `json:"notices,omitempty"`

	entry lockfile.Entry
}

func (t syncStep) String() string {
	text := fmt.Sprintf("%s %s: %s", t.Plugin, t.Version, t.Action)
	if t.Before != "" && t.Action != installer.Nothing {
		text += " from " + t.Before
	}
	return text
}

// syncReport is the output of plugins install --json without a REF.
type syncReport struct {
	Lock    string     `json:"lock"`
	Plugins []syncStep `json:"plugins"`
	// Others are pinned, and were not installed by toolhost.
	Others []string `json:"others"`
}

// sync brings this machine to what the lock says: it installs the plugins that it pins and that are not there,
// and exchanges those that are there in another version. Nothing is asked: the lock is the yes.
func (i *install) sync(ctx context.Context, mirror string, check bool) error {
	lock := i.lock.pinned()
	if lock == nil {
		return exit.Usage("there is no lock to go by: "+sanitize.Text(i.lock.rules.File),
			"toolhost plugins install REF makes one; with lock: off there is none")
	}
	i.lock.keep = i.lock.files[0]
	report := syncReport{Lock: i.lock.keep, Plugins: []syncStep{}, Others: []string{}}
	for _, name := range lock.Names() {
		e := lock.Plugins[name]
		if e.Source == "" {
			report.Others = append(report.Others, name)
			continue
		}
		step, err := i.syncStep(name, e)
		if err != nil {
			return err
		}
		report.Plugins = append(report.Plugins, step)
	}
	var failed error
	due := slices.ContainsFunc(report.Plugins, func(t syncStep) bool { return t.Action != installer.Nothing })
	noted := slices.ContainsFunc(report.Plugins, func(t syncStep) bool { return len(t.Notices) > 0 })
	switch {
	case check && due:
		failed = exit.With(exit.Failed, errors.New("this machine is not as the lock says: toolhost plugins install"))
	case check && noted:
		failed = exit.With(exit.Failed, errors.New("something is to be known of what is installed"))
	}
	for n, step := range report.Plugins {
		if !i.s.Flags.JSON {
			i.s.Out.Text(strings.Join(append([]string{step.String()}, step.Notices...), "\n  ") + "\n")
		}
		if check || step.Action == installer.Nothing {
			continue
		}
		done, err := i.syncOne(ctx, step, mirror)
		t := &report.Plugins[n]
		if t.Served, t.Reason = done.Served, done.Reason; err != nil {
			t.Error = err.Error()
			failed = errors.Join(failed, err)
		}
	}
	if i.s.Flags.JSON {
		return i.s.Out.Report(report, failed)
	}
	i.noteUnserved()
	return failed
}

// syncStep compares a plugin with its pin.
func (i *install) syncStep(name string, e lockfile.Entry) (syncStep, error) {
	out := syncStep{Plugin: name, Version: e.Version, Action: installer.Install, Source: e.Source, entry: e}
	p, err := i.Dir.Plugin(name)
	if err != nil {
		return out, err
	}
	v, ok := p.Current()
	out.Before = v.Version
	said, err := i.Dir.Said(name)
	if err != nil {
		return out, err
	}
	out.Notices = said.Of(e.Version)
	switch c := pluginsource.CompareVersions(e.Version, v.Version); {
	case ok && e.SHA256 != "" && v.SHA256 == e.SHA256:
		out.Action = installer.Nothing
	case !ok && !p.Changed:
	case !ok || c == 0:
		out.Action = installer.Reinstall
	case c < 0:
		out.Action = installer.Downgrade
	default:
		out.Action = installer.Upgrade
	}
	return out, nil
}

// syncOne brings a plugin to its pin: from what is kept, else from the mirror, else from its source.
func (i *install) syncOne(ctx context.Context, t syncStep, mirror string) (installation, error) {
	if t.entry.SHA256 == "" {
		return installation{}, tool.Errorf(tool.CodeUnavailable,
			"%s %s has no file for this machine (%s) in the lock", t.Plugin, t.Version, installer.Platform).Of("", t.Plugin)
	}
	p, err := i.Dir.Plugin(t.Plugin)
	if err != nil {
		return installation{}, err
	}
	if v, ok := p.Find(t.Version); ok && v.SHA256 == t.entry.SHA256 {
		return i.putKept(ctx, v)
	}
	ref, err := i.pinnedRef(t.Plugin, t.Source, mirror)
	if err != nil {
		return installation{}, err
	}
	c, err := i.Find(ctx, installer.Wish{Ref: ref, Name: t.Plugin, Source: t.Source, Downgrade: true, Force: true})
	if err != nil {
		return installation{}, err
	}
	if c.Plan.SHA256 != t.entry.SHA256 {
		return installation{}, errors.Join(tool.Errorf(tool.CodePermissionDenied,
			"%s was not installed: its file is sha256:%s, pinned is sha256:%s", c.Plan, c.Plan.SHA256, t.entry.SHA256).
			Of("", t.Plugin), c.Close())
	}
	i.warnOf(c.Plan)
	prepared, err := i.Prepare(ctx, c)
	if err != nil {
		return installation{}, errors.Join(err, c.Close())
	}
	done, err := i.finish(ctx, installation{Plan: c.Plan}, prepared, c.Manifest)
	return done, errors.Join(err, c.Close())
}

// pinnedRef is the REF of a package that the lock pins, in a mirror if there is one.
func (i *install) pinnedRef(name, source, mirror string) (pluginsource.Ref, error) {
	ref, err := pluginsource.Parse(source)
	if mirror == "" {
		if err != nil {
			err = exit.With(exit.BadUsage, fmt.Errorf("the source of %s in the lock: %w", name, err))
		}
		return ref, err
	}
	sum := pluginsource.DigestOf(source)
	at, err := parseRef(mirror)
	if err != nil {
		return at, err
	}
	if at.Kind != pluginsource.Directory && at.Kind != pluginsource.WebIndex {
		return at, exit.Usage(sanitize.Text(mirror)+" is not a mirror",
			"name a directory that toolhost plugins install --download wrote, or its URL")
	}
	at.Plugin, at.Digest = name, sum
	return at, nil
}
