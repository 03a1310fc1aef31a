package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/config"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/exit"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/paths"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/pins"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/session"
	"github.com/toolhost/toolhost/internal/sanitize"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// unlockReport is the output of plugins lock --off --json.
type unlockReport struct {
	// Removed is the lock that was removed; empty if there was none.
	Removed string `json:"removed,omitempty"`
	// Directories were on record as pinned, by the locks in Files.
	Directories []string `json:"directories"`
	Files       []string `json:"files"`
}

// removeLock removes the lock and then its record, in this order, so that an interruption leaves
// the plugins refused.
func removeLock(ctx context.Context, s *session.Session, rules pins.Rules, yes bool) error {
	if f := s.Settings().Config; f.Lock != "" && f.Lock != config.LockOff {
		return exit.Usage(fmt.Sprintf("%s says lock: %s", sanitize.Text(f.File), sanitize.Text(f.Lock)),
			"say lock: off there, or remove the key first")
	}
	keep := rules.User // a project's word does not unpin what is installed for all
	if rules.File == rules.User {
		keep, rules.Own = "", rules.User
	}
	report, err := pinnedNow(s.Settings().Dirs.Paths, rules, keep)
	if err != nil {
		return err
	}
	if report.Removed == "" && len(report.Directories) == 0 {
		return report.print(s)
	}
	if !yes {
		return exit.With(exit.Refused, &tool.Error{
			Message: "this would let unpinned plugins run: " + strings.Join(report.lines("would be"), "; "),
			Hint:    "if this is what you want, add --yes",
		})
	}
	if report.Removed != "" {
		if err := os.Remove(report.Removed); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return exit.With(exit.Failed, fmt.Errorf("the plugins are still pinned: %w", err))
		}
	}
	if err := pins.Forget(rules.Own, rules.User, s.Settings().Dirs.Paths, keep); err != nil {
		return exit.With(exit.Failed, fmt.Errorf("the plugin directories are still on record as pinned: %w", err))
	}
	s.ReloadDaemon(ctx)
	return report.print(s)
}

// pinnedNow returns what there is to remove.
func pinnedNow(dirs []string, rules pins.Rules, keep string) (unlockReport, error) {
	out := unlockReport{Directories: []string{}, Files: []string{}}
	if info, err := os.Lstat(rules.Own); err == nil {
		if info.IsDir() {
			return out, exit.With(exit.Failed, fmt.Errorf("%s is a directory, not a lock: remove it yourself", sanitize.Text(rules.Own)))
		}
		out.Removed = rules.Own
	}
	record, err := pins.ReadRecord()
	if err != nil {
		return out, err
	}
	for _, dir := range dirs {
		locks := slices.DeleteFunc(record.Locks(rules.Own, rules.User, dir), func(file string) bool { return file == keep })
		if len(locks) > 0 {
			out.Directories = append(out.Directories, dir)
		}
		for _, file := range locks {
			if !slices.Contains(out.Files, file) {
				out.Files = append(out.Files, file)
			}
		}
	}
	return out, nil
}

// lines say what is, or would be, removed.
func (r unlockReport) lines(be string) []string {
	var out []string
	if r.Removed != "" {
		out = append(out, fmt.Sprintf("%s %s removed", r.Removed, be))
	}
	for _, dir := range r.Directories {
		out = append(out, fmt.Sprintf("%s %s removed from the record of pinned directories", dir, be))
	}
	for _, file := range r.Files {
		if file != r.Removed && paths.Exists(file) {
			out = append(out, file+" stays, and pins plugins where commands find it")
		}
	}
	return out
}

func (r unlockReport) print(s *session.Session) error {
	if s.Flags.JSON {
		return s.Out.JSON(r)
	}
	lines := r.lines("is")
	if len(lines) == 0 {
		lines = []string{"nothing is pinned here"}
	}
	for _, line := range lines {
		s.Out.Printf("%s\n", sanitize.Text(line))
	}
	return nil
}
