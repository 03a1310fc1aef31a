package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Report is the outcome of a run.
type Report struct {
	Broken []string `json:"broken"` // promises; none: all were kept

	Carriers []plugin.Carrier `json:"carriers"` // one of each host
	Plugins  int              `json:"plugins"`  // of each host
	Callers  int              `json:"callers"`
	Every    tool.Duration    `json:"kill_every"`
	Breaker  string           `json:"breaker"`
	Took     tool.Duration    `json:"took"`

	Calls   int `json:"calls"`
	Kills   int `json:"kills"`
	Starts  int `json:"starts"`  // of plugins
	Retried int `json:"retried"` // calls that took more than one attempt

	Idempotent Tally `json:"idempotent"`
	Other      Tally `json:"other"`

	Typed    map[tool.Code]int `json:"typed_failures"`
	Untyped  int               `json:"untyped_failures"`  // and answers that are not the call's
	Repeated int               `json:"repeated"`          // other calls that ran more than once
	Lies     int               `json:"unsent_but_ran"`    // other calls that ran although the host says that they never left
	Ghosts   int               `json:"answered_not_ran"`  // calls that were answered and never ran
	NoAnswer int               `json:"no_answer"`         // calls that took longer than the callers' patience
	Slowest  tool.Duration     `json:"slowest"`           // call
	Examples []string          `json:"examples,omitzero"` // of what must not be

	Before    Usage         `json:"before"`
	Busy      Usage         `json:"before_close"`
	After     Usage         `json:"after_close"`
	CloseTook tool.Duration `json:"close_took"`
	Left      []string      `json:"left"` // directories of the hosts
}

// thresholds shows a restart policy.
func thresholds(p plugin.RestartPolicy) string {
	return fmt.Sprintf("%d failures free, pauses of %v to %v, quarantine after %d for %v to %v; a run of %v is a good one",
		p.Free, p.Backoff, p.MaxBackoff, p.Quarantine, p.Cooldown, p.MaxCooldown, p.Lasting)
}

// Tally counts the calls of one kind of tool.
type Tally struct {
	Calls     int `json:"calls"`
	Succeeded int `json:"succeeded"`
	Unsent    int `json:"unsent"` // failed, and never left the host
}

// least is the part of idempotent calls that has to succeed in the end.
const least = .95

func (t Tally) rate() float64 {
	if t.Calls == 0 {
		return 0
	}
	return float64(t.Succeeded) / float64(t.Calls)
}

// add counts what a caller has met, and compares it with the plugins' ledgers.
func (r *Report) add(c *caller, ran runs) {
	if !c.over.Load() {
		r.NoAnswer++
		return
	}
	if r.Typed == nil {
		r.Typed = map[tool.Code]int{}
	}
	for code, n := range c.codes {
		r.Typed[code] += n
	}
	r.Untyped += c.untyped
	r.Retried += c.retried
	r.Slowest = max(r.Slowest, tool.Duration(c.slowest))
	r.Examples = append(r.Examples, c.examples...)
	for number, m := range c.made {
		r.count(m, ran.of(c.number, number))
	}
}

// count takes one call, and how often it has run.
func (r *Report) count(m made, ran int) {
	t := &r.Other
	if m.idempotent {
		t = &r.Idempotent
	} else if ran > 1 {
		r.Repeated++
	}
	r.Calls++
	t.Calls++
	switch m.fate {
	case answered:
		t.Succeeded++
		if ran == 0 {
			r.Ghosts++
		}
	case unsent:
		t.Unsent++
		if ran > 0 && !m.idempotent { // an earlier attempt of an idempotent one may have run
			r.Lies++
		}
	case lost:
		r.NoAnswer++
	case failed:
	}
}

// expected are the codes that a killed plugin explains.
var expected = []tool.Code{tool.CodeCrashed, tool.CodeUnavailable, tool.CodeDeadlineExceeded}

// broken notes a promise that was not kept, if one is.
func (r *Report) broken(is bool, format string, args ...any) {
	if is {
		r.Broken = append(r.Broken, fmt.Sprintf(format, args...))
	}
}

// judge says which promises were broken.
func (r *Report) judge(s settings) {
	r.Broken = []string{}
	if s.duration == 0 {
		r.broken(r.Calls < s.calls, "%d calls of %d", r.Calls, s.calls)
		r.broken(r.Kills < s.kills, "%d kills of %d", r.Kills, s.kills)
	}
	r.broken(r.Calls == 0 || r.Kills == 0 && s.kills > 0, "nothing was tried")
	r.judgeCalls("plugin", "kill", least, expected...)
	r.Broken = append(r.Broken, r.After.beyond(r.Before)...)
	r.broken(len(r.Left) > 0, "directories are left: %s", strings.Join(r.Left, ", "))
}

// judgeCalls does so for the calls, of which errors name an owner, and causes explain some codes.
func (r *Report) judgeCalls(owner, cause string, least float64, explained ...tool.Code) {
	r.broken(r.Untyped > 0, "%d calls ended with no typed error that names its %s, or with an answer that is not theirs", r.Untyped, owner)
	for _, code := range slices.Sorted(maps.Keys(r.Typed)) {
		r.broken(!slices.Contains(explained, code), "%d calls ended with %s, which no %s explains", r.Typed[code], code, cause)
	}
	r.broken(r.Idempotent.Calls > 0 && r.Idempotent.rate() < least,
		"%.3f %% of the idempotent calls succeeded in the end, of %.1f %%", 100*r.Idempotent.rate(), 100*least)
	r.broken(r.Repeated > 0, "%d calls that must not be repeated ran more than once", r.Repeated)
	r.broken(r.Lies > 0, "%d calls ran of which the host says that they never left", r.Lies)
	r.broken(r.Ghosts > 0, "%d calls were answered and never ran", r.Ghosts)
	r.broken(r.NoAnswer > 0, "%d calls had no answer within %v", r.NoAnswer, patience)
}

// beyond says what is more than before.
func (u Usage) beyond(before Usage) []string {
	var out []string
	for _, c := range []struct {
		what                   string
		now, before, tolerance int64
		unit                   int64
	}{
		{"goroutines", int64(u.Goroutines), int64(before.Goroutines), 0, 1},
		{"descriptors", int64(u.Descriptors), int64(before.Descriptors), 0, 1},
		{"MiB of heap in use", u.HeapInUse, before.HeapInUse, heapTolerance, 1 << 20},
		{"MiB of resident memory", u.Resident, before.Resident, residentTolerance, 1 << 20},
	} {
		if c.now > c.before+c.tolerance {
			out = append(out, fmt.Sprintf("%d %s are left; before there were %d", c.now/c.unit, c.what, c.before/c.unit))
		}
	}
	return out
}

// rows begins a table of names and values.
func rows(b *strings.Builder) (row func(name, format string, args ...any), end func() error) {
	w := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	return func(name, format string, args ...any) {
		_, _ = fmt.Fprintf(w, "%s\t%s\n", name, fmt.Sprintf(format, args...))
	}, w.Flush
}

// showCalls shows how calls ended.
func (r *Report) showCalls(row func(name, format string, args ...any), least float64) {
	for _, code := range slices.Sorted(maps.Keys(r.Typed)) {
		row("typed failures", "%d %s", r.Typed[code], code)
	}
	row("untyped failures", "%d (must be 0)", r.Untyped)
	row("idempotent calls", "%d, succeeded in the end: %d, %.4f %% (at least %.1f %%)",
		r.Idempotent.Calls, r.Idempotent.Succeeded, 100*r.Idempotent.rate(), 100*least)
	row("other calls", "%d, succeeded: %d, never left the host: %d", r.Other.Calls, r.Other.Succeeded, r.Other.Unsent)
	row("ran more than once", "%d of the others (must be 0)", r.Repeated)
	row("said not to have left, and ran", "%d of the others (must be 0)", r.Lies)
	row("answered, and never ran", "%d (must be 0)", r.Ghosts)
	row("no answer", "%d (must be 0)", r.NoAnswer)
}

// table shows the report to people.
func (r *Report) table() string {
	var b strings.Builder
	row, end := rows(&b)
	row("hosts", "%d, on %v, with %d plugins each", len(r.Carriers), r.Carriers, r.Plugins)
	row("load", "%d callers, tools of 0 to %v, a kill every %v on average", r.Callers, maxWork, time.Duration(r.Every))
	row("breaker", "%s", r.Breaker)
	row("took", "%v", time.Duration(r.Took).Round(time.Millisecond))
	row("calls", "%d", r.Calls)
	row("kills", "%d", r.Kills)
	row("starts of plugins", "%d", r.Starts)
	row("calls that took more attempts", "%d", r.Retried)
	row("slowest call", "%v", time.Duration(r.Slowest).Round(time.Millisecond))
	r.showCalls(row, least)
	_ = end()

	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	_, _ = fmt.Fprintf(w, "\n\tbefore\tat work\tafter Close\tmay be more\t\n")
	line := func(name string, tolerance int64, of func(Usage) int64, unit int64) {
		show := func(u Usage) string {
			if v := of(u); v >= 0 {
				return fmt.Sprintf("%.4g", float64(v)/float64(unit))
			}
			return "unknown"
		}
		_, _ = fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%d\t\n", name, show(r.Before), show(r.Busy), show(r.After), tolerance/unit)
	}
	line("goroutines", 0, func(u Usage) int64 { return int64(u.Goroutines) }, 1)
	line("descriptors", 0, func(u Usage) int64 { return int64(u.Descriptors) }, 1)
	line("heap in use, MiB", heapTolerance, func(u Usage) int64 { return u.HeapInUse }, 1<<20)
	line("resident, MiB", residentTolerance, func(u Usage) int64 { return u.Resident }, 1<<20)
	_ = w.Flush()
	_, _ = fmt.Fprintf(&b, "directories left: %d; Close took %v\n\n", len(r.Left), time.Duration(r.CloseTook).Round(time.Millisecond))

	r.verdict(&b)
	return b.String()
}

// verdict shows what was broken.
func (r *Report) verdict(b *strings.Builder) {
	for _, reason := range r.Broken {
		_, _ = fmt.Fprintf(b, "BROKEN: %s\n", reason)
	}
	for _, example := range r.Examples[:min(10, len(r.Examples))] {
		_, _ = fmt.Fprintf(b, "  %s\n", example)
	}
	if len(r.Broken) == 0 {
		b.WriteString("every promise was kept\n")
	}
}
