package view

import (
	"fmt"
	"strings"
	"time"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/timestamppb"
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
ctrl+l: draw again
?: this text
q, ctrl+c: quit`, "\n")}
}

// Whole returns all that is known of a row.
func (d *Data) Whole(r Row) *Pane {
	p := &Pane{Title: "Call " + r.ID}
	switch {
	case r.Call != nil:
		d.fields(p, "", r.Call.ProtoReflect(), 0)
	case r.Ended != nil:
		d.fields(p, "", r.Ended.ProtoReflect(), r.Ended.GetTookNs())
		p.Lines = append(p.Lines, "", "The record has more: toolhost audit show "+r.ID)
	case r.State != nil:
		p.Title = "Plugin " + r.ID
		for i, c := range lists[plugins].columns[1:] {
			p.add(strings.ToLower(c.title), r.cells[i+1])
		}
		p.add("in all", fmt.Sprintf("%d ended, %d failed", d.plugins[r.ID].ended, d.plugins[r.ID].failed))
	}
	return p
}

func (p *Pane) add(name, value string) {
	p.Lines = append(p.Lines, strings.TrimRight(fmt.Sprintf("%-18s %s", name, value), " "))
}

// fields adds those of a message that are set. Those inside of another have bars, as parts of all.
func (d *Data) fields(p *Pane, indent string, m protoreflect.Message, all int64) {
	for i := range m.Descriptor().Fields().Len() {
		f := m.Descriptor().Fields().Get(i)
		name, isTime := strings.CutSuffix(string(f.Name()), "_ns")
		name = indent + strings.ReplaceAll(name, "_", " ")
		switch v := m.Get(f); {
		case !m.Has(f):
		case isTime && indent != "":
			bar := min(40, max(1, 40*v.Int()/max(1, all)))
			p.add(name, fmt.Sprintf("%-6s %s", took(v.Int()), strings.Repeat("█", int(bar))))
		case isTime:
			p.add(name, took(v.Int()))
		case f.Message() == nil:
			p.add(name, v.String())
		default:
			if t, ok := v.Message().Interface().(*timestamppb.Timestamp); ok {
				p.add(name, fmt.Sprintf("%s, %s ago", t.AsTime().Local().Format(time.DateTime+".000"), Short(d.since(t.AsTime()))))
			} else {
				d.fields(p, indent+"  ", v.Message(), all)
			}
		}
	}
}
