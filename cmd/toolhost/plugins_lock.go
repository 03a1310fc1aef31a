package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/exit"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/output"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/pins"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/session"
	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/internal/lockfile"
	"github.com/toolhost/toolhost/internal/pluginrun"
	"github.com/toolhost/toolhost/internal/sanitize"
)

const aboutLock = `Start every plugin once, and write the SHA-256 of its binary, the digest of its tools'
definitions, its version and what it declares to need to toolhost.lock, next to the
configuration file or where its lock: says. From then on nothing else runs. The changes are
printed: read them before you trust them.

Outside a project, --user pins all plugins of this user, for all commands, in the lock next to
install_dir. Once it does, the flag is not needed to pin what has changed.

If a plugin needs more than is pinned, or than was accepted when it first ran, that is shown
and you are asked. Without a terminal, --yes says so; else nothing is written and the exit
status is 5.

A plugin that does not start keeps its previous pin, and the exit status is 1. Disabled
plugins are not started, and keep their pins too.

An MCP server has no binary here: the lock has the digest of its command line or URL, and the
definitions of its tools, so that a refusal shows what it says now and said before.

With --check nothing is written, and nothing starts whose binary is not as pinned. The
exit status is 1 if the plugins in the directories are not those that are pinned. Use it
first, to see what writing the lock would accept before that runs.

Your state directory records what is pinned: if a lock is removed, nothing of it starts. --off
removes lock and record; as that lets anything run, it needs --yes.`

func newPluginsLockCommand(s *session.Session) *cobra.Command {
	var check, off, yes, user bool
	cmd := &cobra.Command{
		Example: `  toolhost plugins lock --check
  toolhost plugins lock`,
		Use:   "lock",
		Short: "Pin the installed plugins: nothing else runs from then on",
		Long:  aboutLock,
		Args:  noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			rules, err := s.LockRules(s.Settings())
			switch {
			case err != nil:
				return err
			case check && off:
				return exit.Usage("--check and --off exclude each other", "leave one out")
			case yes && check:
				return exit.Usage("--yes and --check exclude each other", "leave one out")
			case user && (check || off):
				return exit.Usage("--user has no effect with --check and --off", "leave it out: they are about the lock that is in force")
			case off:
				return removeLock(cmd.Context(), s, rules, yes)
			case check:
				return checkLock(cmd.Context(), s, rules)
			}
			return writeLock(cmd.Context(), s, rules, yes, user)
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&check, "check", false, "compare with the existing lock, and write nothing")
	flags.BoolVar(&off, "off", false, "unpin the plugin directories")
	flags.BoolVar(&user, "user", false, "outside a project: pin all plugins of this user, for all commands")
	flags.BoolVar(&yes, "yes", false, "let plugins have what they need in addition; with --off: confirm")
	return cmd
}

// checkOutside refuses to begin to pin all plugins of the user, which is meant for one project if user was not said.
func checkOutside(s *session.Session, rules pins.Rules, before *lockfile.Lock, user bool) error {
	outside := rules.File == rules.User && s.Settings().Config.File == ""
	record, err := pins.ReadRecord()
	switch {
	case err != nil:
		return err
	case outside && (user || record[rules.User].All || before == nil && counts(rules, rules.User)): // a lock that is lost is restored
		return nil
	case user:
		return exit.Usage("--user has no effect here: the lock is "+sanitize.Text(rules.File), "leave it out")
	case !outside:
		return nil
	}
	var names []string
	for _, dir := range s.Settings().Dirs.Paths {
		found, _, _ := pluginrun.Discover(dir) // that it cannot be read is an error of the start
		for _, c := range found {
			names = append(names, c.Name)
		}
	}
	return exit.Usage(fmt.Sprintf("there is no toolhost.yaml here, so this would pin all plugins of this user, for all commands, in %s: %s",
		sanitize.Text(rules.File), output.OrDash(strings.Join(names, ", "))),
		"toolhost config init begins a project, whose lock rules that alone; if you mean all, add --user")
}

// writeLock starts the plugins and pins them. If they need more than was accepted, it asks, unless
// yes was said.
func writeLock(ctx context.Context, s *session.Session, rules pins.Rules, yes, all bool) error {
	file := rules.File
	if rules.Off {
		return exit.Usage(sanitize.Text(s.Settings().Config.File)+" says lock: off", "say lock: required there, or remove the key")
	}
	before, err := s.ReadLock(file)
	if exit.Status(err) == exit.Refused { // what is pinned is the operator's
		return err
	}
	if err := checkOutside(s, rules, before, all); err != nil {
		return err
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		s.Err.Printf("toolhost: %s cannot be read, and is replaced: %s\n", sanitize.Text(file), output.FirstLine(err.Error()))
	}
	found, err := inspect(ctx, s, before, session.Needs{Options: []host.Option{host.WithLocks()}, Writes: file})
	if err != nil {
		return err
	}
	now, failed := found.pinned(before)
	user := &lockfile.Lock{}
	if file != rules.User && counts(rules, rules.User) {
		if user, err = s.ReadLock(rules.User); exit.Status(err) == exit.Refused {
			return err
		} else if err != nil { // it is made again
			user = &lockfile.Lock{}
		}
		now.KeepPlatforms(user)
	}
	wanting := found.wanting(now)
	report := lockReport{
		File: file, Plugins: len(now.Plugins), WantsMore: wanting,
		Differences: append([]lockfile.Difference{}, lockfile.Compare(before, now)...), Failed: append([]unpinned{}, failed...),
	}
	if len(wanting) > 0 && !yes {
		if err := confirmNeeds(ctx, s, wanting, report.text()); err != nil {
			return err
		}
	}
	if err := s.WriteLock(now, file); err != nil {
		return err
	}
	if err := writeUserLock(s, rules, user, now, found); err != nil {
		return err
	}
	unrecorded := errors.Join(acceptNeeds(s, found.described(now)), acceptChanged(s, found.plugins, now))
	how := pins.Instead
	if s.Settings().Config.File == "" && (file == rules.User || s.Settings().Dirs.Installed == "") {
		how = pins.Everywhere
	}
	kept, notKept := pins.Pin(file, rules.User, s.Settings().Dirs.Paths, how)
	s.ReloadDaemon(ctx)
	var incomplete error
	switch {
	case notKept != nil:
		incomplete = exit.With(exit.Failed,
			fmt.Errorf("the plugins are pinned, but other processes do not know that the lock is required: %w", notKept))
	case unrecorded != nil && kept:
		incomplete = exit.With(exit.Failed, fmt.Errorf(
			"the plugins are pinned, but what they need, and their tools' levels, are not remembered: %w", unrecorded))
	case len(failed) > 0:
		parts := make([]string, len(failed))
		for i, f := range failed {
			parts[i] = f.String()
		}
		incomplete = exit.With(exit.Failed,
			fmt.Errorf("some plugins could not be pinned as they are now: %s", strings.Join(parts, ", ")))
	}
	err = report.print(s, "%s %s pinned in %s\n", incomplete)
	if !kept && notKept == nil {
		s.Notef("without a state directory (HOME is not set) other processes do not know of the lock: " +
			"say lock: required in the configuration")
	}
	return err
}

// writeUserLock has the user's lock, if it counts and is not the one that is written, accept the plugins too that
// it pins.
func writeUserLock(s *session.Session, rules pins.Rules, user, now *lockfile.Lock, found *inspection) error {
	i := slices.IndexFunc(rules.Locks, func(l host.Lock) bool { return l.File == rules.User && l.File != rules.File })
	if i < 0 {
		return nil
	}
	for _, p := range found.plugins {
		if _, ok := now.Plugins[p.Name]; ok && slices.Contains(rules.Locks[i].Dirs, filepath.Dir(p.Path)) {
			user.Take(p.Name, now)
		}
	}
	return s.WriteLock(user, rules.User)
}
