package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/session"
	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/journal"
	"github.com/toolhost/toolhost/internal/known"
	"github.com/toolhost/toolhost/internal/lockfile"
	"github.com/toolhost/toolhost/internal/need"
	"github.com/toolhost/toolhost/internal/pluginrun"
	"github.com/toolhost/toolhost/internal/sanitize"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// needs returns what a plugin declares to need.
func needs(s plugin.Status) string {
	if s.Needs == nil && !s.Undeclared {
		return "-"
	}
	return s.Needs.String()
}

// wantsMore returns what a plugin wants that was not accepted, and how to accept it; empty:
// nothing.
func wantsMore(s plugin.Status) string {
	if s.WantsMore == nil {
		return ""
	}
	return s.WantsMore.Text + "; it runs without until: " + s.WantsMore.Accept
}

// changedTools returns which tools are not what the operator gave their level to, and how to accept
// them; empty: none.
func changedTools(s plugin.Status) string {
	if len(s.Changed) == 0 {
		return ""
	}
	var all []string
	for _, t := range s.Changed {
		all = append(all, fmt.Sprintf("%s (given %s)", t.Text, t.Level))
	}
	return "changed since the level was given: " + strings.Join(all, "; ") + "; dangerous until: toolhost plugins enable " + s.Name
}

// acceptNeeds records that the operator accepts what plugins declare to need, so that it is
// their ceiling from now on.
func acceptNeeds(s *session.Session, plugins []plugin.Status) error {
	book, err := known.OpenOwn()
	if err != nil {
		return err
	}
	for _, p := range plugins {
		if p.WantsMore != nil {
			s.Tell(p.Name, journal.Accepted, "locked by the operator, with what it needs; accepted: "+p.WantsMore.Text)
		}
	}
	return book.Decide(func(all known.Records) {
		for _, p := range plugins {
			all.Accept(known.At(p.Path, p.Name), p.Needs)
		}
	})
}

// acceptChanged records that tools which have changed since they were given a level have it as they
// are now, those that a lock pins so.
func acceptChanged(s *session.Session, plugins []plugin.Status, now *lockfile.Lock) error {
	set, err := s.Settings().Servers()
	if err != nil {
		return err
	}
	book, err := known.OpenOwn()
	if err != nil {
		return err
	}
	for _, p := range plugins {
		if _, pinned := now.Plugins[p.Name]; !pinned || len(p.Changed) == 0 {
			continue
		}
		key := known.At(p.Path, p.Name)
		if one, ok := set.Get(p.Name); ok && p.Kind == pluginrun.KindMCP {
			key = one.Record()
		}
		if err := book.Decide(func(all known.Records) { give(all, key, p.Changed) }); err != nil {
			return err
		}
	}
	return nil
}

func give(all known.Records, key known.Plugin, changed []plugin.ChangedTool) {
	for _, t := range changed {
		all.Give(key, known.LevelKey(t.Tool, t.Level), t.Definition)
	}
}

// needy is a plugin that wants more than was accepted.
type needy struct {
	Plugin  string    `json:"plugin"`
	Changes need.Diff `json:"changes"`
}

// confirmNeeds asks at the terminal whether plugins may have more than before, and returns an
// error unless the answer is yes. Shown is what would be pinned.
func confirmNeeds(ctx context.Context, s *session.Session, all []needy, shown string) error {
	var names []string
	for _, n := range all {
		names = append(names, n.Plugin)
	}
	more := "what these plugins need is more than was accepted: " + strings.Join(names, ", ")
	return s.Confirm(ctx, shown, sanitize.Text(more)+"\nPin them, and let them have it? [y/N] ",
		tool.Errorf(tool.CodeApprovalRequired, "nothing was pinned: %s", more).
			Try("read what is new, and if they may have it, add --yes; to pin the others: toolhost plugins disable NAME"),
		tool.Errorf(tool.CodeApprovalDenied, "nothing was pinned: the answer was not yes"))
}
