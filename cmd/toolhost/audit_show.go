package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/auditindex"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/exit"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/output"
	"github.com/toolhost/toolhost/host/audit"
	"github.com/toolhost/toolhost/internal/sanitize"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// auditShow is toolhost audit show.
type auditShow struct{ *auditFile }

func newAuditShowCommand(log *auditFile) *cobra.Command {
	c := &auditShow{log}
	return &cobra.Command{
		Use:   "show CALL-ID",
		Short: "Show one call: who made it, who decided, and why it took so long",
		Long: `Show all that the log has of one call: the reason why it took its time, who made it, who or
what decided that it may run, how it ended, its questions, and a bar for each phase:

  asked    it waited for a yes, or for answers to its own questions
  retried  earlier attempts, and the pauses between them
  started  its plugin was started
  queued   it waited for its turn (limits.running)
  sent     its arguments were written to the plugin
  ran      the tool worked
  checked  its answer was checked
  host     all else that toolhost did

Calls that were made in it are below, on the same axis of time. The beginning of an ID is
enough if no other call's begins so; toolhost audit shows the IDs. Of a durable call, the ID that
toolhost jobs shows will do, too.`,
		Example: `  toolhost audit show k3vq7dzn-12
  toolhost audit show k3vq7dzn-12 --json`,
		Args:              cobra.ExactArgs(1),
		RunE:              func(cmd *cobra.Command, args []string) error { return c.run(cmd.Context(), args[0]) },
		ValidArgsFunction: oneOf(c.newest),
	}
}

// newest returns the IDs of the newest calls, for completion.
func (c *auditShow) newest(ctx context.Context) (ids []string) {
	c.s.Quiet = true
	if c.s.Configure(true) != nil {
		return nil
	}
	path, err := c.path()
	if err != nil {
		return nil
	}
	for e, err := range audit.Search(ctx, path, audit.Filter{Events: []string{audit.Begin, audit.End}, Limit: 50}) {
		if err == nil {
			ids = append(ids, sanitize.Line(fmt.Sprintf("%s\t%s %s, %s", e.Call, e.Time.Local().Format(time.TimeOnly), e.Tool, e.Caller), 0))
		}
	}
	slices.Reverse(ids)
	return ids
}

// maxInput is how many characters of arguments are shown.
const maxInput = 400

// call is a call as the log has it.
type call struct {
	ID     string            `json:"call"`
	Reason string            `json:"reason"`
	Ended  bool              `json:"ended"`
	Lines  []json.RawMessage `json:"lines"`
	Calls  []*call           `json:"calls,omitempty"` // that were made in it
	More   bool              `json:"more,omitempty"`  // calls than are here

	entries []audit.Entry
}

func (c *auditShow) run(ctx context.Context, id string) error {
	path, err := c.path()
	if err != nil {
		return err
	}
	_, x, closeAll, err := c.index(ctx, path, true)
	defer closeAll()
	if errors.Is(err, fs.ErrNotExist) {
		if err := c.empty(path, true); err != nil {
			return err
		}
		return unknownCall(id, path)
	}
	if err != nil {
		return err
	}
	tree, err := x.Tree(ctx, id)
	if err == nil && len(tree.Entries) == 0 {
		var ids []string
		if ids, err = x.Beginning(ctx, id); err == nil && len(ids) == 1 {
			tree, err = x.Tree(ctx, ids[0])
		} else if len(ids) > 1 {
			return exit.Usage(fmt.Sprintf("several calls have IDs that begin with %s: %s", sanitize.Quote(id, 80), strings.Join(ids, ", ")), "give more of the ID")
		}
	}
	if err == nil && len(tree.Entries) == 0 {
		tree, err = x.Job(ctx, id)
	}
	switch {
	case err != nil:
		return unreadable(err)
	case len(tree.Entries) == 0:
		return unknownCall(id, path)
	}
	found := newCall(tree)
	if c.s.Flags.JSON {
		return c.s.Out.JSON(found)
	}
	c.draw(found)
	return nil
}

func unknownCall(id, path string) error {
	return &tool.Error{
		Code: tool.CodeNotFound, Message: fmt.Sprintf("the audit log %s has no call %s", sanitize.Text(path), sanitize.Quote(id, 80)),
		Hint: "toolhost audit shows the IDs; of a call that another host has forwarded, that host has a line, too; old files are deleted (audit.max_files)",
	}
}

// newCall returns what is shown of a call and of those in it.
func newCall(found *auditindex.Call) *call {
	c := &call{ID: found.ID, More: found.More, entries: found.Entries}
	for _, below := range found.Calls {
		c.Calls = append(c.Calls, newCall(below))
	}
	for _, e := range c.entries {
		c.Lines = append(c.Lines, e.Raw)
		c.Ended = c.Ended || e.Event == audit.End
	}
	c.Reason = c.reason()
	return c
}

// last is the newest end line, or the newest line if there is none.
func (c *call) last() *audit.Entry {
	for i := range slices.Backward(c.entries) {
		if c.entries[i].Event == audit.End {
			return &c.entries[i]
		}
	}
	return &c.entries[len(c.entries)-1]
}

// began is when the call of a line began.
func began(e *audit.Entry) time.Time { return e.Time.Add(-time.Duration(e.Duration)) }

// reason says in a sentence why the call took its time.
func (c *call) reason() string {
	e := c.last()
	if e.Event != audit.End {
		return fmt.Sprintf("It has not ended: it began at %s and runs, or its host was killed.", began(e).Local().Format(time.DateTime))
	}
	var inside time.Duration
	for _, below := range c.Calls {
		inside += time.Duration(below.last().Duration)
	}
	return reason(&e.Record, inside)
}

// reason is that of a call that ended, in which others took some time.
func reason(r *audit.Record, inside time.Duration) string {
	spent, p := r.Spent(), r.Phases
	if spent == nil {
		return fmt.Sprintf("It took %s; where that went is not on record.", briefly(time.Duration(r.Duration)))
	}
	phase := r.Longest()
	took := briefly(time.Duration(spent[max(0, slices.Index(audit.Phases, phase))]))
	of := ""
	if r.Plugin != "" {
		of = " of the plugin " + sanitize.Line(r.Plugin, 0)
	}
	switch phase {
	case "asked":
		answer := map[string]string{audit.Approved: "yes", audit.Denied: "no"}[r.Decision]
		if answer == "" {
			return fmt.Sprintf("It took %s until questions about it, or its own, were answered.", took)
		}
		return fmt.Sprintf("A person or program took %s to say %s.", took, answer)
	case "retried":
		return fmt.Sprintf("It was tried %d times: earlier attempts and the pauses between took %s.", r.Attempts, took)
	case "started":
		return fmt.Sprintf("Its plugin was started, which took %s, %s of that until it had described itself.", took, briefly(time.Duration(p.Handshake)))
	case "queued":
		others, behind := max(0, p.Ahead-p.Own), ""
		switch {
		case p.Ahead == 0:
		case p.Own*2 <= p.Ahead:
			behind = ", behind " + calls(others) + " of others"
		case others == 0:
			behind = ", behind " + calls(p.Own) + " of its own caller"
		default:
			behind = ", behind " + calls(p.Own) + " of its own caller and " + calls(others) + " of others"
		}
		return fmt.Sprintf("It waited %s for its turn%s (limits.running%s).", took, behind, of)
	case "sent":
		return fmt.Sprintf("Writing its arguments to the plugin took %s (%s).", took, output.Size(int64(p.BytesIn)))
	case "ran":
		switch {
		case p.There != nil:
			there := audit.Record{Event: audit.End, Duration: p.Ran, Phases: p.There, Attempts: r.Attempts, Decision: audit.Allowed}
			return fmt.Sprintf("The host %s took %s. There: %s", sanitize.Line(p.On, 0), took, reason(&there, 0))
		case inside > 0:
			return fmt.Sprintf("The tool itself worked %s; the calls that it made took %s.", took, briefly(inside))
		}
		return fmt.Sprintf("The tool itself worked %s.", took)
	case "checked":
		return fmt.Sprintf("Checking its answer took %s (%s).", took, output.Size(int64(p.BytesOut)))
	}
	return fmt.Sprintf("toolhost's own work took %s.", took)
}

func calls(n int) string {
	if n == 1 {
		return "1 call"
	}
	return fmt.Sprintf("%d calls", n)
}

// axis is the time that bars are drawn on.
type axis struct {
	from time.Time
	all  time.Duration
}

// barWidth is the length of an axis, in columns.
const barWidth = 40

// bar draws a time.
func (a axis) bar(from time.Time, took time.Duration) string {
	at := func(t time.Time) int {
		return int(min(max(0, float64(t.Sub(a.from))/float64(max(1, a.all))), 1)*barWidth + 0.5)
	}
	first, last := at(from), at(from.Add(took))
	if took > 0 && last == first {
		first, last = min(first, barWidth-1), min(first, barWidth-1)+1
	}
	return strings.Repeat(" ", first) + strings.Repeat("█", last-first)
}

// draw shows a call to a person.
func (c *auditShow) draw(found *call) {
	out := c.s.Out
	out.Printf("%s\n", out.Wrapped(found.Reason, 0))
	whole := axis{from: began(&found.entries[0])}
	for i := range found.entries {
		whole.from = earlier(whole.from, began(&found.entries[i]))
	}
	for i := range found.entries {
		whole.all = max(whole.all, found.entries[i].Time.Sub(whole.from))
	}
	ended := 0
	for i := range found.entries {
		e := &found.entries[i]
		if e.Event == audit.End || e.Event == audit.Begin && !found.Ended && e == found.last() {
			ended++
			out.Printf("\n")
			out.Fields(callFields(e, found.entries))
			c.phases(e, whole)
		}
	}
	if ended == 0 { // a question of a call whose begin line is gone
		out.Printf("\n")
		out.Fields(callFields(found.last(), found.entries))
	}
	if len(found.Calls) == 0 {
		return
	}
	out.Printf("\n")
	table := output.Table{{"CALLS IN IT", "RESULT", "AFTER", "TIME", "CALL", ""}}
	more := nest(&table, found, whole, "")
	out.Table(table)
	if more {
		out.Printf("There are more calls than are shown; toolhost audit show takes the ID of each.\n")
	}
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// nest adds the calls in a call to a table, and reports whether there are more.
func nest(table *output.Table, in *call, whole axis, indent string) (more bool) {
	for _, c := range in.Calls {
		e := c.last()
		result := cmp.Or(string(e.Code), string(audit.CodeOK))
		if e.Event != audit.End {
			result = "not ended"
		}
		table.Add(indent+sanitize.Line(e.Tool, 0), result, briefly(began(e).Sub(whole.from)), briefly(time.Duration(e.Duration)),
			sanitize.Line(c.ID, 0), whole.bar(began(e), time.Duration(e.Duration)))
		more = nest(table, c, whole, indent+"  ") || more
	}
	return more || in.More
}

// callFields describes a call by its end line, or its begin line.
func callFields(e *audit.Entry, all []audit.Entry) []output.Field {
	result := cmp.Or(string(e.Code), string(audit.CodeOK))
	if e.Message != "" {
		result += ": " + e.Message
	}
	if e.Event != audit.End {
		result = "not ended"
	}
	who := []string{output.OrDash(e.Caller)}
	add := func(before, value, after string) {
		if value != "" {
			who = append(who, before+value+after)
		}
	}
	add("of ", e.Account, "")
	add("by ", e.Via, "")
	add("(", e.Client, ")")
	decision := map[string]string{
		audit.Allowed: "allowed by the caller's grants", audit.Approved: "approved", audit.Denied: "denied", "": "none: it was refused before",
	}[e.Decision]
	if e.Approver != "" {
		decision += " by " + e.Approver
	}
	fields := []output.Field{
		{Name: "call", Value: e.Call}, {Name: "tool", Value: e.Tool}, {Name: "plugin", Value: e.Plugin},
		{Name: "began", Value: began(e).Local().Format("2006-01-02 15:04:05.000")}, {Name: "result", Value: result},
		{Name: "caller", Value: strings.Join(who, " ")}, {Name: "session", Value: e.Session}, {Name: "trace", Value: e.Trace},
		{Name: "made in", Value: e.Parent}, {Name: "job", Value: e.Object}, {Name: "decision", Value: decision},
	}
	if e.Attempts > 1 {
		fields = append(fields, output.Field{Name: "attempts", Value: fmt.Sprint(e.Attempts)})
	}
	if p := e.Phases; p != nil {
		fields = append(fields, output.Field{Name: "size", Value: fmt.Sprintf("%s in, %s out, about %d tokens",
			output.Size(int64(p.BytesIn)), output.Size(int64(p.BytesOut)), p.EstimatedTokens)})
	}
	fields = append(fields, output.Field{Name: "asked input", Value: output.Shorten(string(e.AskedInput), maxInput)},
		output.Field{Name: "input", Value: output.Shorten(string(e.Input), maxInput)})
	for _, q := range all {
		if q.Event == audit.Question {
			fields = append(fields, output.Field{Name: "question", Value: fmt.Sprintf("%s: %s, at %s", q.Message, q.Decision, q.Time.Local().Format(time.TimeOnly))})
		}
	}
	return fields
}

// phases draws where the time of a call went.
func (c *auditShow) phases(e *audit.Entry, whole axis) {
	table := output.Table{{"PHASE", "TIME", "SHARE", ""}}
	addPhases(&table, &e.Record, began(e), whole, "")
	if len(table) > 1 {
		c.s.Out.Printf("\n")
		c.s.Out.Table(table)
	}
}

// addPhases adds those of a call that began at a time, and below them those on the host that ran it.
func addPhases(table *output.Table, r *audit.Record, at time.Time, whole axis, indent string) {
	for i, took := range r.Spent() {
		d := time.Duration(took)
		table.Add(indent+audit.Phases[i], briefly(d), fmt.Sprintf("%.1f%%", 100*float64(d)/float64(max(1, r.Duration))), whole.bar(at, d))
		if p := r.Phases; audit.Phases[i] == "ran" && p.There != nil {
			table.Add(indent + "  on " + sanitize.Line(p.On, 60))
			addPhases(table, &audit.Record{Event: audit.End, Duration: p.Ran, Phases: p.There}, at, whole, indent+"  ")
		}
		at = at.Add(d)
	}
}
