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
	"github.com/toolhost/toolhost/internal/sanitize"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// lockOff is what plugins lock --off --json prints.
type lockOff struct {
	// Removed is the lock that was removed; empty: there was none.
	Removed string `json:"removed,omitempty"`
	// Directories were on record as pinned, and Files are the locks that pinned them.
	Directories []string `json:"directories"`
	Files       []string `json:"files"`
}

// unlockPlugins takes the pins away: the lock first, then the record of it, so that what
// is interrupted still refuses.
func (a *app) unlockPlugins(ctx context.Context, rules lockRules, yes bool) error {
	if c := a.configured(); c.Lock != "" && c.Lock != config.LockOff {
		return usage(fmt.Sprintf("%s says lock: %s", sanitize.Text(c.File), sanitize.Text(c.Lock)),
			"say lock: off there, or remove the key first")
	}
	out, err := a.pinnedNow(rules)
	if err != nil {
		return err
	}
	if out.Removed == "" && len(out.Directories) == 0 {
		return a.showLockOff(out)
	}
	if !yes {
		return &failure{exitRefused, &tool.Error{
			Message: "what nothing pins would run: " + strings.Join(out.lines("would be"), "; "), Hint: "if this is what you want, add --yes",
		}}
	}
	if out.Removed != "" {
		if err := os.Remove(out.Removed); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return &failure{exitFailed, fmt.Errorf("the plugins are pinned as they were: %w", err)}
		}
	}
	if err := forgetLocks(a.namedDirs().dirs); err != nil {
		return &failure{exitFailed, fmt.Errorf("the plugin directories are on record as pinned still: %w", err)}
	}
	a.tellDaemon(ctx)
	return a.showLockOff(out)
}

// pinnedNow is what there is to take away.
func (a *app) pinnedNow(rules lockRules) (lockOff, error) {
	out := lockOff{Directories: []string{}, Files: []string{}}
	if info, err := os.Lstat(rules.own); err == nil {
		if info.IsDir() {
			return out, &failure{exitFailed, fmt.Errorf("%s is a directory, and not a lock: remove it yourself", sanitize.Text(rules.own))}
		}
		out.Removed = rules.own
	}
	record, err := readLockRecord()
	if err != nil {
		return out, err
	}
	dirs := a.namedDirs().dirs
	for i, file := range record.of(dirs) {
		if file == "" {
			continue
		}
		out.Directories = append(out.Directories, dirs[i])
		if !slices.Contains(out.Files, file) {
			out.Files = append(out.Files, file)
		}
	}
	return out, nil
}

// lines say what is, or would be, taken away.
func (o lockOff) lines(be string) []string {
	var out []string
	if o.Removed != "" {
		out = append(out, fmt.Sprintf("%s %s removed", o.Removed, be))
	}
	for _, dir := range o.Directories {
		out = append(out, fmt.Sprintf("%s %s off the record of pinned directories", dir, be))
	}
	for _, file := range o.Files {
		if file != o.Removed && isThere(file) {
			out = append(out, file+" stays where it is, and pins where it is found")
		}
	}
	return out
}

func (a *app) showLockOff(o lockOff) error {
	if a.json {
		return a.out.json(o)
	}
	lines := o.lines("is")
	if len(lines) == 0 {
		lines = []string{"nothing is pinned here"}
	}
	for _, line := range lines {
		a.out.printf("%s\n", sanitize.Text(line))
	}
	return nil
}
