package main

import (
	"fmt"
	"slices"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/session"
	"github.com/toolhost/toolhost/internal/lockfile"
	"github.com/toolhost/toolhost/internal/sanitize"
)

// lockReport is the output of plugins lock --json.
type lockReport struct {
	File        string                `json:"file"`
	Plugins     int                   `json:"plugins"`
	Differences []lockfile.Difference `json:"differences"`
	// WantsMore are plugins that need more than was accepted before.
	WantsMore []needy `json:"wants_more,omitempty"`
	// Failed are plugins that could not be pinned as they are now.
	Failed []unpinned `json:"failed"`
}

// unpinned is a plugin that did not start, or could not be examined.
type unpinned struct {
	Plugin string `json:"plugin"`
	// Kept reports whether the plugin keeps its previous pin.
	Kept bool `json:"kept"`
}

func (u unpinned) String() string {
	if u.Kept {
		return u.Plugin + " (it keeps its previous pin)"
	}
	return u.Plugin + " (it is not pinned)"
}

// print prints a report, and returns err. Summary is a format for people; empty if there is
// an error that says what is wrong.
func (r lockReport) print(s *session.Session, summary string, err error) error {
	if s.Flags.JSON {
		return s.Out.Report(r, err)
	}
	s.Out.Printf("%s", r.text())
	if summary != "" {
		verb := "are"
		if r.Plugins == 1 {
			verb = "is"
		}
		s.Out.Printf(summary, plural(r.Plugins, "plugin"), verb, sanitize.Text(r.File))
	}
	return err
}

// text is one line for each difference, and for each plugin that wants more than was accepted
// and not pinned.
func (r lockReport) text() string {
	text := lockfile.Render(r.Differences)
	for _, n := range r.WantsMore {
		shown := func(d lockfile.Difference) bool { return d.Plugin == n.Plugin && d.Kind == lockfile.Needs }
		if !slices.ContainsFunc(r.Differences, shown) {
			text += fmt.Sprintf("%s: it needs more than was accepted: %v\n", n.Plugin, n.Changes)
		}
	}
	return sanitize.Text(text)
}
