package view

import (
	"fmt"
	"strings"
	"time"
)

// Help is what the keys do.
func Help() *Pane {
	return &Pane{Title: "Keys", Lines: strings.Split(`up, down, k, j, page up and down, home, end: choose a row
1 2 3 4, tab: calls that run or wait, plugins, callers, calls that have ended
enter: the chosen row whole; of a caller, its calls
l: what its plugin writes
a: the question that its call waits for, else the oldest one; y approves, n denies
r, d: restart or disable its plugin, after a yes
/: show only rows with these words; esc: show all again
s: sort by something else
space: hold the picture, or go on
ctrl+l: draw again
?: this text
q, ctrl+c: quit`, "\n")}
}

// Whole returns all that is known of a row.
func (d *Data) Whole(r Row) *Pane {
	p := &Pane{Title: "Call " + r.ID}
	field := func(name, value string) {
		if value != "" {
			p.Lines = append(p.Lines, fmt.Sprintf("%-10s %s", name, value))
		}
	}
	begun := func(t time.Time) { field("begun", t.Local().Format(time.DateTime+".000")) }
	switch {
	case r.Call != nil:
		c := r.Call
		field("tool", c.GetTool())
		field("plugin", c.GetPlugin())
		field("is at", c.GetPhase())
		field("since", Short(d.since(c.GetBegun().AsTime())))
		d.who(field, c)
		begun(c.GetBegun().AsTime())
	case r.Ended != nil:
		c := r.Ended
		field("tool", c.GetTool())
		field("plugin", c.GetPlugin())
		field("code", c.GetCode())
		field("message", c.GetMessage())
		field("took", took(c.GetTookNs()))
		for _, one := range phasesOf(c.GetPhases()) {
			if one.took > 0 {
				bar := int(max(1, 40*one.took/max(1, c.GetTookNs())))
				field("  "+one.name, fmt.Sprintf("%-6s %s", took(one.took), strings.Repeat("█", min(bar, 40))))
			}
		}
		if q := c.GetPhases(); q.GetAhead() > 0 {
			field("", "")
			field("ahead", fmt.Sprintf("%d, of them %d of this caller", q.GetAhead(), q.GetOwn()))
		}
		field("bytes", fmt.Sprintf("%s in, %s out", size(c.GetPhases().GetBytesIn()), size(c.GetPhases().GetBytesOut())))
		field("attempts", nonZero(int64(c.GetAttempts())))
		field("decision", strings.TrimSpace(c.GetDecision()+" "+c.GetApprover()))
		d.who(field, c)
		field("trace", c.GetTrace())
		begun(c.GetBegun().AsTime())
		p.Lines = append(p.Lines, "", "The record has more: toolhost audit show "+c.GetId())
	case r.State != nil:
		s := r.State
		p.Title = "Plugin " + r.ID
		for i, c := range lists[plugins].columns[1:] {
			field(strings.ToLower(c.title), r.cells[i+1])
		}
		field("in all", fmt.Sprintf("%d ended, %d failed", d.plugins[s.GetName()].ended, d.plugins[s.GetName()].failed))
	}
	return p
}

// who adds who makes a call.
func (d *Data) who(field func(name, value string), c interface {
	GetCaller() string
	GetAccount() string
	GetVia() string
	GetClient() string
	GetSession() string
	GetParent() string
},
) {
	field("caller", c.GetCaller())
	field("account", c.GetAccount())
	field("via", c.GetVia())
	field("client", c.GetClient())
	field("session", c.GetSession())
	field("within", c.GetParent())
}
