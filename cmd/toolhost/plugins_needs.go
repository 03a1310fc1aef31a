package main

import (
	"context"
	"strings"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/session"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/terminal"
	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/known"
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

// acceptNeeds records that the operator accepts what plugins declare to need, so that it is
// their ceiling from now on.
func acceptNeeds(plugins []plugin.Status) error {
	book, err := known.OpenOwn()
	if err != nil {
		return err
	}
	return book.Decide(func(all known.Records) {
		for _, s := range plugins {
			all.Accept(known.At(s.Path, s.Name), s.Needs)
		}
	})
}

// needy is a plugin that wants more than was accepted.
type needy struct {
	Plugin  string            `json:"plugin"`
	Changes tool.NeedsChanges `json:"changes"`
}

// confirmNeeds asks at the terminal whether plugins may have more than before, and returns an
// error unless the answer is yes. Shown is what would be pinned.
func confirmNeeds(ctx context.Context, s *session.Session, all []needy, shown string) error {
	var names []string
	for _, n := range all {
		names = append(names, n.Plugin)
	}
	more := "what these plugins need is more than was accepted: " + strings.Join(names, ", ")
	t, err := s.OpenTerminal()
	if err != nil {
		s.Err.Printf("%s", shown)
		return tool.Errorf(tool.CodeApprovalRequired, "nothing was pinned: %s", more).
			Try("read what is new, and if they may have it, add --yes; to pin the others: toolhost plugins disable NAME")
	}
	defer func() { _ = t.Close() }()
	yes, err := terminal.Confirm(ctx, t, shown+sanitize.Text(more)+"\n", "Pin them, and let them have it? [y/N] ")
	if err != nil || yes {
		return err
	}
	return tool.Errorf(tool.CodeApprovalDenied, "nothing was pinned: the answer was not yes")
}
