package verify

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"
)

// Check is one thing that holds of a plugin that keeps the protocol.
type Check struct {
	// ID is GROUP.NAME.
	ID string `json:"id"`
	// What holds of a plugin that passes.
	What string `json:"what"`
	// Do is what the author does about a plugin that does not pass.
	Do string `json:"do"`
	// See is the section of docs/plugin-protocol.md, as a link has it.
	See string `json:"see"`

	after  []string // IDs of checks that have to have passed; a warning counts as passed
	unless []string // patterns of IDs before it, which it waits for; it is skipped if one of these has failed
	run    runner
}

// runner tries whether a check holds.
type runner = func(context.Context, *subject) finding

// check returns a check: its ID, the section about it, the checks that have to have passed, what holds, and what to
// do if it does not.
func check(id, see string, after []string, what, do string, run runner) Check {
	return Check{ID: id, See: see, What: what, Do: do, after: after, run: run}
}

// unlessFound returns the check, which is skipped if one that fits a pattern has failed.
func (c Check) unlessFound(patterns ...string) Check {
	c.unless = patterns
	return c
}

// onLive is a check of a process that takes calls.
func onLive(try func(context.Context, *subject, *process) finding) runner {
	return func(ctx context.Context, s *subject) finding {
		p, err := s.live(ctx)
		if err != nil {
			return failIf(err)
		}
		return try(ctx, s, p)
	}
}

// Group returns the part of the ID before the dot.
func (c Check) Group() string {
	group, _, _ := strings.Cut(c.ID, ".")
	return group
}

// groups are in the order in which they are run.
var groups = []struct {
	name, title string
	checks      func() []Check
}{
	{"handshake", "Handshake", handshakeChecks},
	{"describe", "Description", describeChecks},
	{"configure", "Configuration", configureChecks},
	{"start", "Start", startChecks},
	{"definitions", "Definitions of tools", definitionChecks},
	{"schemas", "Schemas", schemaChecks},
	{"models", "What model providers take", modelChecks},
	{"services", "Services", serviceChecks},
	{"calls", "Calls", callChecks},
	{"stream", "Stream", streamChecks},
	{"cancel", "Cancellation", cancelChecks},
	{"concurrency", "Concurrency", concurrencyChecks},
	{"size", "Sizes", sizeChecks},
	{"crash", "Crashes", crashChecks},
	{"resources", "Memory, processor and descriptors", resourceChecks},
	{"needs", "Declared needs", needsChecks},
	{"host", "In the host", hostChecks},
	{"sandbox", "Sandbox", sandboxChecks},
	{"output", "Standard output and standard error", outputChecks},
	{"shutdown", "Shutdown", shutdownChecks},
}

// Title returns the title of a group.
func Title(group string) string {
	return groups[slices.Index(Groups(), group)].title
}

// Groups returns the names of the groups in order.
func Groups() (out []string) {
	for _, g := range groups {
		out = append(out, g.name)
	}
	return out
}

// Checks returns all checks in the order in which they are run: what a check needs is before it.
func Checks() (out []Check) {
	for _, g := range groups {
		out = append(out, g.checks()...)
	}
	return out
}

// Patterns of checks: those that have a process of their own, and so run with their neighbours that have one, and
// those that [Options.Fast] leaves out.
var (
	apart = []string{"start.*", "stream.*", "cancel.result", "cancel.partial"}
	slow  = []string{"resources.*", "host.*", "sandbox.*"}
)

// matches reports whether an ID fits one of the patterns, which are those of [path.Match].
func matches(patterns []string, id string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool {
		ok, _ := path.Match(p, id)
		return ok
	})
}

// Outcome is what became of a check.
type Outcome string

// The outcomes.
const (
	Pass Outcome = "pass"
	Fail Outcome = "fail" // the plugin breaks the protocol, or some host or model refuses it
	Warn Outcome = "warn" // the plugin works, and could be better
	Skip Outcome = "skip" // it could not be tried, or does not concern this plugin
)

// finding is what a check has found.
type finding struct {
	outcome Outcome
	why     string
}

var passed = finding{outcome: Pass}

// noted is a check that has passed, with what it could not see.
func noted(format string, args ...any) finding { return finding{Pass, fmt.Sprintf(format, args...)} }

func fail(format string, args ...any) finding { return finding{Fail, fmt.Sprintf(format, args...)} }
func warn(format string, args ...any) finding { return finding{Warn, fmt.Sprintf(format, args...)} }
func skip(format string, args ...any) finding { return finding{Skip, fmt.Sprintf(format, args...)} }

// foundIf returns what was found, if it was.
func foundIf(wrong bool, f finding) finding {
	if wrong {
		return f
	}
	return passed
}

// failIf returns a failure if there is an error.
func failIf(err error) finding {
	if err != nil {
		return finding{Fail, err.Error()}
	}
	return passed
}

// maxNamed bounds how many tools a finding names.
const maxNamed = 5

// faults collects what is wrong with several tools, each thing once.
type faults []string

func (f *faults) add(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); !slices.Contains(*f, text) {
		*f = append(*f, text)
	}
}

func (f *faults) finding(as Outcome) finding {
	if len(*f) == 0 {
		return passed
	}
	return finding{as, some(*f, "; ")}
}

// some returns the first of many texts.
func some(all []string, between string) string {
	text := strings.Join(all[:min(len(all), maxNamed)], between)
	if more := len(all) - maxNamed; more > 0 {
		text += fmt.Sprintf("%sand %d more", between, more)
	}
	return text
}

// named returns a list of names, shortened.
func named(all []string) string { return some(all, ", ") }
