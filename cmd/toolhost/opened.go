package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/plugin"
)

// opened is what a command works on.
type opened struct {
	backend
	dirs []string
}

// needs are what a command needs of a host of its own.
type needs struct {
	// options are those that cost something, such as a log to open, which the function
	// that comes back closes again; nil: there are none.
	options func() ([]host.Option, func(), error)
	// uncached starts every plugin: what is remembered of it does not count.
	uncached bool
	// alone is the flag that a daemon has no part in; empty: a daemon will do.
	alone string
}

// withHost finds a daemon or loads the plugins, warns of those that cannot be used,
// runs f, and gives all back, whatever happened.
func (a *app) withHost(ctx context.Context, n needs, f func(*opened) error) error {
	h, err := a.open(ctx, n)
	if err != nil {
		return err
	}
	for _, fault := range h.faulty() {
		a.warn(fault)
	}
	return errors.Join(f(h), h.close(ctx))
}

// open is the daemon, if one runs that has all in common with this command, or else a
// host of its own.
func (a *app) open(ctx context.Context, n needs) (*opened, error) {
	if _, err := a.logger(); err != nil { // whoever does the work
		return nil, err
	}
	named := a.namedDirs()
	if r, ok := a.daemon(ctx, named, n); ok {
		return &opened{r, named.dirs}, nil
	}
	l, dirs, err := a.openLocal(ctx, named, n)
	if err != nil {
		return nil, err
	}
	return &opened{l, dirs}, nil
}

// emptyNote explains a list with nothing in it; empty: there are plugins.
func (h *opened) emptyNote() string {
	if len(h.Plugins()) > 0 || len(h.faulty()) > 0 {
		return ""
	}
	note := fmt.Sprintf("no plugins in %s: copy plugin binaries there", strings.Join(h.dirs, " and "))
	if n := len(h.Skipped()); n > 0 {
		note += fmt.Sprintf(" (skipped there: %d, see toolhost plugins)", n)
	}
	return note
}

// statusOf is the plugin of that name.
func statusOf(all []plugin.Status, name string) (plugin.Status, bool) {
	i := slices.IndexFunc(all, func(s plugin.Status) bool { return s.Name == name })
	if i < 0 {
		return plugin.Status{}, false
	}
	return all[i], true
}

// toolsOf are the names of a plugin's tools.
func (h *opened) toolsOf(ctx context.Context, name string) ([]string, error) {
	all, err := h.list(ctx, host.Filter{})
	names := []string{}
	for _, t := range all {
		if t.Owner == name {
			names = append(names, t.Name)
		}
	}
	return names, err
}
