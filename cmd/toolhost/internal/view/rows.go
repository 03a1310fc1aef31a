package view

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/output"
	daemonv1 "github.com/toolhost/toolhost/proto/toolhost/daemon/v1"
)

// Row is one line of a list.
type Row struct {
	ID     string // within its list
	Plugin string // what its log is of; empty: none
	Caller string // of the list of callers
	Call   *daemonv1.RunningCall
	Ended  *daemonv1.EndedCall
	State  *daemonv1.PluginSum

	cells []string
	style style
}

// column is one of a list. Those with the greatest drop go first if there is no room for all.
type column struct {
	title       string
	width, grow int
	drop        int
	right       bool
}

// list is what rows there are of a kind.
type list struct {
	columns []column
	orders  []order
	rows    func(*Data) []Row
}

// order is a way to sort rows, which are in the first one as they come.
type order struct {
	name    string
	compare func(d *Data, a, b Row) int
}

func asTheyCome(*Data, Row, Row) int { return 0 }

// The lists, in the order of their keys.
const (
	calls = iota
	plugins
	callers
	ended
)

var lists = [...]list{
	calls: {
		[]column{
			{"TOOL", 13, 3, 0, false}, {"PHASE", 7, 0, 0, false}, {"AGE", 6, 0, 0, true}, {"CALLER", 8, 2, 1, false}, {"PLUGIN", 10, 1, 2, false},
			{"CALL", 10, 2, 3, false}, {"VIA", 6, 0, 4, false}, {"CLIENT", 14, 2, 5, false}, {"SESSION", 12, 2, 6, false}, {"ACCOUNT", 10, 1, 7, false}, {"WITHIN", 10, 2, 8, false},
		},
		[]order{
			{"age", asTheyCome},
			{"caller", func(_ *Data, a, b Row) int { return cmp.Compare(a.Call.GetCaller(), b.Call.GetCaller()) }},
			{"phase", func(_ *Data, a, b Row) int { return cmp.Compare(a.Call.GetPhase(), b.Call.GetPhase()) }},
			{"tool", func(_ *Data, a, b Row) int { return cmp.Compare(a.Call.GetTool(), b.Call.GetTool()) }},
		},
		runningRows,
	},
	plugins: {
		[]column{
			{"PLUGIN", 11, 2, 0, false}, {"STATE", 8, 1, 0, false}, {"CALLS", 5, 0, 0, true}, {"CPU%", 5, 0, 1, true}, {"MEMORY", 6, 0, 2, true},
			{"P50", 6, 0, 3, true}, {"P99", 6, 0, 2, true}, {"WAIT", 5, 0, 4, true}, {"CALLS/S", 7, 0, 3, true}, {"FAILED", 6, 0, 5, true}, {"STARTS", 6, 0, 6, true},
			{"CRASHES", 7, 0, 5, true}, {"FILES", 5, 0, 8, true}, {"REFUSED", 7, 0, 7, true}, {"KIND", 6, 0, 9, false}, {"PID", 7, 0, 8, true}, {"REASON", 16, 6, 9, false},
		},
		[]order{
			{"name", asTheyCome},
			{"CPU", func(d *Data, a, b Row) int { return cmp.Compare(d.plugins[b.ID].cpu, d.plugins[a.ID].cpu) }},
			{"memory", func(_ *Data, a, b Row) int { return cmp.Compare(b.State.GetMemoryBytes(), a.State.GetMemoryBytes()) }},
			{"p99", func(_ *Data, a, b Row) int { return cmp.Compare(b.State.GetP99Ns(), a.State.GetP99Ns()) }},
			{"calls", func(d *Data, a, b Row) int { return cmp.Compare(d.plugins[b.ID].rate, d.plugins[a.ID].rate) }},
		},
		pluginRows,
	},
	callers: {
		[]column{
			{"CALLER", 12, 1, 0, false}, {"RUN", 5, 0, 0, true}, {"WAIT", 5, 0, 0, true}, {"CALLS/S", 7, 0, 0, true}, {"CALLS", 7, 0, 1, true}, {"FAILED", 7, 0, 1, true},
		},
		[]order{
			{"busy", asTheyCome},
			{"calls", func(d *Data, a, b Row) int { return cmp.Compare(d.callers[b.ID].ended, d.callers[a.ID].ended) }},
			{"failed", func(d *Data, a, b Row) int { return cmp.Compare(d.callers[b.ID].failed, d.callers[a.ID].failed) }},
			{"name", func(_ *Data, a, b Row) int { return cmp.Compare(a.ID, b.ID) }},
		},
		callerRows,
	},
	ended: {
		[]column{
			{"ENDED", 12, 3, 0, false}, {"CODE", 8, 2, 0, false}, {"TOOK", 6, 0, 0, true}, {"AGO", 6, 0, 2, true}, {"WHY", 14, 0, 1, false}, {"CALLER", 8, 2, 3, false},
			{"PLUGIN", 10, 1, 5, false}, {"CALL", 10, 2, 6, false}, {"CLIENT", 14, 2, 7, false}, {"MESSAGE", 20, 9, 4, false},
		},
		[]order{
			{"newest", asTheyCome},
			{"slowest", func(_ *Data, a, b Row) int { return cmp.Compare(b.Ended.GetTookNs(), a.Ended.GetTookNs()) }},
			{"code", func(_ *Data, a, b Row) int { return cmp.Compare(b.Ended.GetCode(), a.Ended.GetCode()) }},
		},
		endedRows,
	},
}

func runningRows(d *Data) (out []Row) {
	for _, c := range d.Now.GetRunning() {
		style := plain
		switch c.GetPhase() {
		case "asked":
			style = notice
		case "queued", "started":
			style = dim
		}
		out = append(out, Row{ID: c.GetId(), Plugin: c.GetPlugin(), Call: c, style: style, cells: []string{
			c.GetTool(), c.GetPhase(), Short(d.since(c.GetBegun().AsTime())), output.OrDash(c.GetCaller()), output.OrDash(c.GetPlugin()), c.GetId(),
			output.OrDash(c.GetVia()), output.OrDash(c.GetClient()), output.OrDash(c.GetSession()), output.OrDash(c.GetAccount()), output.OrDash(c.GetParent()),
		}})
	}
	return out
}

func pluginRows(d *Data) (out []Row) {
	for _, p := range d.Now.GetPlugins() {
		t, style := d.plugins[p.GetName()], plain
		switch p.GetState() {
		case "degraded", "backoff", "quarantined", "refused":
			style = bad
		case "idle", "disabled":
			style = dim
		}
		cpu, memory, files := "-", "-", "-"
		if p.GetMemoryBytes() > 0 {
			cpu, memory, files = fmt.Sprintf("%.0f", t.cpu), size(p.GetMemoryBytes()), count(int64(p.GetDescriptors()))
		}
		out = append(out, Row{ID: p.GetName(), Plugin: p.GetName(), State: p, style: style, cells: []string{
			p.GetName(), output.OrDash(p.GetState()), count(int64(p.GetCalls())), cpu, memory,
			took(p.GetP50Ns()), took(p.GetP99Ns()), count(int64(p.GetWaiting())), rate(t.rate), count(t.failed), count(int64(p.GetStarts())),
			count(int64(p.GetCrashes())), files, count(p.GetRefusedAccesses()), cmp.Or(p.GetKind(), "plugin"), output.NumberOrDash(int(p.GetPid())), p.GetReason(),
		}})
	}
	return out
}

func callerRows(d *Data) (out []Row) {
	busy := map[string]*daemonv1.CallerSum{}
	for _, c := range d.Now.GetCallers() {
		busy[c.GetName()] = c
	}
	for name, t := range d.callers {
		c := busy[name]
		out = append(out, Row{ID: name, Caller: name, cells: []string{
			output.OrDash(name), count(int64(c.GetRunning())), count(int64(c.GetWaiting())), rate(t.rate), count(t.ended), count(t.failed),
		}})
	}
	slices.SortFunc(out, func(a, b Row) int {
		x, y := busy[a.ID], busy[b.ID]
		return cmp.Or(cmp.Compare(y.GetRunning()+y.GetWaiting(), x.GetRunning()+x.GetWaiting()),
			cmp.Compare(d.callers[b.ID].rate, d.callers[a.ID].rate), cmp.Compare(a.ID, b.ID))
	})
	return out
}

func endedRows(d *Data) (out []Row) {
	for _, c := range d.ended {
		style := plain
		if c.GetCode() != "" {
			style = bad
		}
		out = append(out, Row{ID: c.GetId(), Plugin: c.GetPlugin(), Ended: c, style: style, cells: []string{
			c.GetTool(), cmp.Or(c.GetCode(), "ok"), took(c.GetTookNs()), Short(d.since(endOf(c))), why(c.GetPhases()), output.OrDash(c.GetCaller()),
			output.OrDash(c.GetPlugin()), c.GetId(), output.OrDash(c.GetClient()), c.GetMessage(),
		}})
	}
	return out
}

// since returns the time between one and now.
func (d *Data) since(t time.Time) time.Duration { return max(0, d.Now.GetTime().AsTime().Sub(t)) }

// phase is a part of a call's time.
type phase struct {
	name string
	took int64
}

func phasesOf(p *daemonv1.Phases) []phase {
	return []phase{
		{"asked", p.GetAskedNs()}, {"retried", p.GetRetriedNs()}, {"started", p.GetStartedNs()}, {"queued", p.GetQueuedNs()},
		{"sent", p.GetSentNs()}, {"ran", p.GetRanNs()}, {"checked", p.GetCheckedNs()},
	}
}

// why returns what took the most of a call's time.
func why(p *daemonv1.Phases) string {
	most := slices.MaxFunc(phasesOf(p), func(a, b phase) int { return cmp.Compare(a.took, b.took) })
	if most.took == 0 {
		return "-"
	}
	return most.name + " " + took(most.took)
}

// rowsOf returns the rows of a list that the filter lets through, sorted.
func (s *Screen) rowsOf(d *Data, of int) []Row {
	out := lists[of].rows(d)
	if words := strings.Fields(strings.ToLower(s.Filter)); len(words) > 0 {
		out = slices.DeleteFunc(out, func(r Row) bool {
			text := strings.ToLower(strings.Join(r.cells, " "))
			return slices.ContainsFunc(words, func(word string) bool { return !strings.Contains(text, word) })
		})
	}
	compare := lists[of].orders[s.order[of]].compare
	slices.SortStableFunc(out, func(a, b Row) int { return compare(d, a, b) })
	return out
}
