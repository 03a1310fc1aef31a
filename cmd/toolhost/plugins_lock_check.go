package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/toolhost/toolhost/internal/lockfile"
	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/sanitize"
)

// checkLock compares the plugins with the lock. It goes by the pins itself, so that
// nothing is started whose bytes are not pinned.
func (a *app) checkLock(ctx context.Context, rules lockRules) error {
	if rules.off {
		return &failure{exitFailed, fmt.Errorf("%s says lock: off, so that nothing is pinned", sanitize.Text(a.configured().File))}
	}
	pins, err := lockfile.Read(rules.file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return &failure{exitFailed, fmt.Errorf("there is no %s: make it with toolhost plugins lock", sanitize.Text(rules.file))}
	case err != nil:
		return &failure{exitFailed, err}
	}
	i, err := a.inspect(ctx)
	if err != nil {
		return err
	}
	found := i.found(pins)
	change := lockChange{rules.file, len(found.Plugins), append([]lockfile.Difference{}, lockfile.Compare(pins, found)...), []unpinned{}}
	summary := "%d plugins are as pinned in %s\n"
	if i.unseen || len(change.Differences) > 0 {
		summary = ""
	}
	if err := a.showLock(change, summary); err != nil {
		return err
	}
	switch {
	case len(change.Differences) > 0:
		return &failure{exitFailed, errors.New("the plugins are not as " + lockName + " pins them: " +
			"if this is what you want to run, toolhost plugins lock")}
	case i.unseen:
		return &failure{exitFailed, errors.New("not all of the plugin directories could be read")}
	}
	return nil
}

// found is what is in the directories, started or not. What the operator has disabled
// does not run, whatever it is, and is as pinned if it is pinned.
func (i *inspection) found(pins *lockfile.Lock) *lockfile.Lock {
	out := &lockfile.Lock{Plugins: i.recorder.Found()}
	if out.Plugins == nil {
		out.Plugins = map[string]lockfile.Entry{}
	}
	for _, s := range i.plugins {
		_, looked := out.Plugins[s.Name]
		e, pinned := pins.Plugins[s.Name]
		switch {
		case looked:
		case s.State == plugin.Disabled && pinned:
			out.Plugins[s.Name] = e
		case s.State != plugin.Disabled || s.Reason != "": // refused, or held as it is new
			out.Plugins[s.Name] = lockfile.Entry{}
		}
	}
	return out
}
