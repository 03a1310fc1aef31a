package main

import (
	"github.com/toolhost/toolhost/cmd/toolhost/internal/session"
	"github.com/toolhost/toolhost/internal/lockfile"
	"github.com/toolhost/toolhost/internal/sanitize"
)

// lockReport is the output of plugins lock --json.
type lockReport struct {
	File        string                `json:"file"`
	Plugins     int                   `json:"plugins"`
	Differences []lockfile.Difference `json:"differences"`
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
	s.Out.Printf("%s", sanitize.Text(lockfile.Render(r.Differences)))
	if summary != "" {
		s.Out.Printf(summary, r.Plugins, sanitize.Text(r.File))
	}
	return err
}
