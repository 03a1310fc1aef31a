package main

import (
	"strconv"
	"strings"
	"time"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/output"
	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/sanitize"
)

// sandboxLevel returns the level of a sandbox, and what it is about; nil: there is no process.
func sandboxLevel(s *plugin.SandboxStatus) string {
	if s == nil {
		return ""
	}
	text := string(s.Level)
	if s.Level == plugin.NoSandbox {
		return text + ": it may do whatever its user may"
	}
	if s.Undeclared {
		text += ", undeclared: what sandbox does not decide is left to it"
	}
	switch {
	case s.Fault != "":
		text += "; it cannot be made: " + s.Fault
	case len(s.Less) > 0:
		text += "; it does not start, as earlier starts enforced more: toolhost plugins enable accepts that"
	case !s.InForce:
		text += "; not running: this is what it would get"
	}
	return text
}

// openTo says what is open to a plugin, and which key closes it; empty: nothing is.
func openTo(s *plugin.SandboxStatus) string {
	if s == nil {
		return ""
	}
	return sanitize.Line(s.Advice, 0)
}

// printSandbox prints the lines of a sandbox, and what it has denied.
func printSandbox(out *output.Writer, s *plugin.SandboxStatus) {
	if s == nil {
		return
	}
	if len(s.Lines) > 0 {
		t := output.Table{{"SANDBOX", "GIVEN", "ENFORCED BY", "NOT ENFORCED"}}
		for _, l := range s.Lines {
			t.AddFilled(sandboxColumn, l.Name, sanitize.Line(l.Given, 0), output.OrDash(strings.Join(l.By, ", ")),
				output.OrDash(sanitize.Line(l.Open, 0)))
		}
		out.Printf("\n")
		out.Table(t)
	}
	if len(s.Denied) > 0 {
		t := output.Table{{"DENIED", "COUNT", "LAST"}}
		for _, d := range s.Denied {
			t.Add(sanitize.Line(d.What, 0), strconv.FormatInt(d.Count, 10), d.Last.Local().Format(time.RFC3339))
		}
		out.Printf("\n")
		out.Table(t)
	}
}

// sandboxColumn is how wide a column of the table is, in characters, unless a word is longer.
const sandboxColumn = 44
