package main

import (
	"context"
	"errors"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/exit"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/output"
	"github.com/toolhost/toolhost/internal/installed"
	"github.com/toolhost/toolhost/internal/sanitize"
)

// release is an installed plugin and the newest release of it.
type release struct {
	Plugin  string `json:"plugin"`
	Version string `json:"version"`
	Newest  string `json:"newest,omitempty"`
	// Outdated says that Newest is newer.
	Outdated bool   `json:"outdated"`
	Source   string `json:"source"`
	// Notices are what is to be known of the version that is installed.
	Notices []string `json:"notices,omitempty"`
	// Error says why the newest release is not known.
	Error string `json:"error,omitempty"`
}

// outdated shows the newest releases of plugins. It fails if one is newer than what is installed, or there is
// something to be known of that.
func (i *install) outdated(ctx context.Context, plugins []installed.Plugin) error {
	all, failed := i.releases(ctx, plugins)
	if failed != nil && len(all) == 0 {
		return failed
	}
	n, notices := 0, []string{}
	for _, r := range all {
		if r.Outdated {
			n++
		}
		for _, notice := range r.Notices {
			notices = append(notices, r.Plugin+" "+r.Version+": "+notice)
		}
	}
	switch {
	case failed != nil:
	case n > 0:
		failed = exit.With(exit.Failed, errors.New(plural(n, "plugin")+" can be upgraded: toolhost plugins upgrade --all"))
	case len(notices) > 0:
		failed = exit.With(exit.Failed, errors.New("of what is installed, "+plural(len(notices), "notice")))
	}
	if i.s.Flags.JSON {
		return i.s.Out.Report(map[string]any{"plugins": all}, failed)
	}
	err := printed[release]{
		all: all, none: "toolhost has installed no plugins", columns: "NAME|INSTALLED|NEWEST|FROM", row: func(r release) []string {
			newest := output.OrDash(r.Newest)
			if r.Error != "" {
				newest = "unknown" // the error says why
			}
			return []string{r.Plugin, r.Version, sanitize.Line(newest, 200), sanitize.Line(r.Source, 0)}
		},
	}.print(i.s)
	for _, notice := range notices {
		i.s.Out.Text(notice + "\n")
	}
	return errors.Join(failed, err)
}

// releases returns the newest releases of plugins. If some are not known, it returns an error too.
func (i *install) releases(ctx context.Context, plugins []installed.Plugin) ([]release, error) {
	out := []release{}
	var failed error
	for _, p := range plugins {
		v, ok := p.Current()
		if !ok {
			continue
		}
		r := release{Plugin: p.Name, Version: v.Version, Source: v.Source}
		newest, err := i.Newest(ctx, v)
		if r.Newest, r.Outdated, r.Notices = newest.Version, newest.Newer, newest.Notices; err != nil {
			r.Error = output.Message(err)
			failed = errors.Join(failed, err)
		}
		out = append(out, r)
	}
	return out, failed
}
