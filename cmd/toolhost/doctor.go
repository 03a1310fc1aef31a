package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/doctor"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/exit"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/output"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/session"
	"github.com/toolhost/toolhost/internal/pluginrun"
)

const aboutDoctor = `Look for what keeps plugins, commands or the daemon from working here: files that are
read or written, ports, the limits of the system, what it confines plugins with, the daemon,
and its fleet. Each finding says what to do about it. No plugin and no server is started.

A warning is about something that is weaker than it could be, such as a protection that this
system does not have. The exit status is 1 if a check failed.`

func newDoctorCommand(s *session.Session) *cobra.Command {
	return &cobra.Command{
		Example: "  toolhost doctor --root ~/project",
		Use:     "doctor",
		Short:   "Find what keeps plugins or the daemon from working here",
		Long:    aboutDoctor,
		Args:    noArguments,
		RunE:    func(cmd *cobra.Command, _ []string) error { return examine(cmd.Context(), s) },
	}
}

// doctorReport is the output of doctor --json.
type doctorReport struct {
	Checks      []doctor.Finding       `json:"checks"`
	Protections []pluginrun.Protection `json:"protections"`
}

func examine(ctx context.Context, s *session.Session) error {
	r := doctorReport{doctor.Examine(ctx, s), pluginrun.Protections()}
	err := r.err()
	if s.Flags.JSON {
		return s.Out.Report(r, err)
	}
	for _, f := range r.Checks {
		printItem(s.Out, string(f.Result), f.Check+": "+f.Message)
		if f.Hint != "" {
			printItem(s.Out, "", f.Hint)
		}
	}
	s.Out.Printf("\nProtections from plugins:\n")
	for _, p := range r.Protections {
		printItem(s.Out, map[bool]string{true: "yes", false: "no"}[p.Available], p.Name+": "+p.Detail)
	}
	return err
}

// printItem prints a text behind a word: as wide as the terminal, and without one on a line of its
// own, which programs can search.
func printItem(out *output.Writer, word, text string) {
	const margin = len("warning") + 2
	text = output.Indent(out.Wrapped(text, margin), strings.Repeat(" ", margin))
	out.Printf("%-*s%s\n", margin, word, strings.TrimLeft(text, " "))
}

func (r doctorReport) err() error {
	failed, last := 0, ""
	for _, f := range r.Checks {
		if f.Result == doctor.Failed && f.Check != last {
			failed, last = failed+1, f.Check
		}
	}
	switch failed {
	case 0:
		return nil
	case 1:
		return exit.With(exit.Failed, fmt.Errorf("a check failed: %s", last))
	}
	return exit.With(exit.Failed, fmt.Errorf("%d of the checks failed", failed))
}
