package activity

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/internal/sanitize"
	"github.com/toolhost/toolhost/pluginsdk/tool"
	daemonv1 "github.com/toolhost/toolhost/proto/toolhost/daemon/v1"
)

// Bounds of what is told at a time, and of its texts in bytes.
const (
	maxRunning = 200
	maxEnded   = 50
	maxCallers = 200
	maxPlugins = 500
	maxName    = 128
	maxMessage = 200
)

// Watch is one who looks. What it keeps between two looks is bounded.
type Watch struct {
	meter     *Meter
	host      *host.Host
	questions func() int

	ended            worst          // since the last look
	callers, plugins map[string]sum // as they were at the last look
	second           int64          // the first that was not told
}

// Watch returns one who looks at a host, where questions returns how many wait. [Watch.Close] has to be called.
func (m *Meter) Watch(h *host.Host, questions func() int) *Watch {
	w := &Watch{meter: m, host: h, questions: questions, callers: map[string]sum{}, plugins: map[string]sum{}}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, one := range slices.Concat(m.before.calls, m.recent.calls) {
		w.ended.add(one)
	}
	m.watches[w] = true
	return w
}

// Close ends the watch.
func (w *Watch) Close() {
	w.meter.mu.Lock()
	defer w.meter.mu.Unlock()
	delete(w.meter.watches, w)
}

// worst are the calls of which there is the most to tell: those that failed, and the slowest.
type worst struct {
	calls []*daemonv1.EndedCall
	least *daemonv1.EndedCall // of them, if there are as many as may be
}

// wants reports whether a call is one of them.
func (w *worst) wants(one *daemonv1.EndedCall) bool { return w.least == nil || worse(one, w.least) < 0 }

func (w *worst) add(one *daemonv1.EndedCall) {
	switch {
	case !w.wants(one):
		return
	case w.least == nil:
		w.calls = append(w.calls, one)
	default:
		w.calls[slices.Index(w.calls, w.least)] = one
	}
	if len(w.calls) == maxEnded {
		w.least = slices.MaxFunc(w.calls, worse)
	}
}

// worse compares calls by how much there is to tell.
func worse(a, b *daemonv1.EndedCall) int {
	if (a.Code == "") != (b.Code == "") {
		return cmp.Compare(b.Code, a.Code) // of which one is empty
	}
	return cmp.Compare(b.TookNs, a.TookNs)
}

// note tells those who look of a call, and those who will come in the next minute.
func (m *Meter) note(e policy.Event, code tool.Code, now time.Duration) {
	one := &daemonv1.EndedCall{Code: string(code), TookNs: int64(e.Duration)}
	if now-m.turned > minute*time.Second {
		m.before, m.recent, m.turned = m.recent, worst{}, now
	}
	wanted := m.recent.wants(one)
	for w := range m.watches {
		wanted = wanted || w.ended.wants(one)
	}
	if !wanted {
		return
	}
	describe(one, e)
	m.recent.add(one)
	for w := range m.watches {
		w.ended.add(one)
	}
}

// describe sets the rest of what is told of a call.
func describe(one *daemonv1.EndedCall, e policy.Event) {
	message := ""
	if e.Err != nil {
		message = e.Err.Error()
	} else if text, ok := first(e.Result.Content).(tool.TextContent); ok && one.Code != "" {
		message = text.Text
	}
	message = message[:min(len(message), 4*maxMessage)]
	one.Id, one.Tool, one.Plugin = clean(e.Call.ID), clean(e.Call.Name), clean(e.Plugin)
	one.Caller, one.Account, one.Via = clean(e.Caller), clean(e.Account), clean(e.Via)
	one.Client, one.Session, one.Parent = clean(e.Client), clean(e.Session), clean(e.Parent)
	one.Begun, one.Message = timestamppb.New(e.Time), sanitize.Line(message, maxMessage)
	one.Decision, one.Approver, one.Attempts = e.Decision, clean(e.Approver), int32(e.Attempts) //nolint:gosec // a few
	one.Phases, one.Trace = phasesOf(e.Phases), traceOf(e.Trace)
}

func first(content []tool.Content) (c tool.Content) {
	if len(content) > 0 {
		c = content[0]
	}
	return c
}

// traceOf returns the ID of a trace; empty: there is none.
func traceOf(t tool.Trace) string {
	if parts := strings.Split(t.Parent, "-"); len(parts) > 1 {
		return clean(parts[1])
	}
	return ""
}

func clean(s string) string { return sanitize.Line(s, maxName) }

func phasesOf(p policy.Phases) *daemonv1.Phases {
	return &daemonv1.Phases{
		AskedNs: int64(p.Asked), RetriedNs: int64(p.Retried), StartedNs: int64(p.Started), HandshakeNs: int64(p.Handshake),
		QueuedNs: int64(p.Queued), Ahead: int32(p.Ahead), Own: int32(p.Own), //nolint:gosec // calls of one host
		SentNs: int64(p.Sent), RanNs: int64(p.Ran), CheckedNs: int64(p.Checked),
		BytesIn: int64(p.BytesIn), BytesOut: int64(p.BytesOut), EstimatedTokens: int64(p.EstimatedTokens),
	}
}

// remember keeps the sums of the meter as they are now.
func (w *Watch) remember() {
	keep := func(kept map[string]sum, now map[string]*sum) {
		clear(kept)
		for name, s := range now {
			kept[name] = *s
		}
	}
	keep(w.callers, w.meter.callers)
	keep(w.plugins, w.meter.plugins)
}

// Next returns what was done since the last time, and what is done now.
func (w *Watch) Next() *daemonv1.Activity {
	status, dropped := w.host.Plugins(), w.host.Status().DroppedEvents
	out := &daemonv1.Activity{Approvals: int32(w.questions())} //nolint:gosec // a few
	callers, plugins := map[string]*daemonv1.CallerSum{}, map[string]*daemonv1.PluginSum{}
	m := w.meter

	m.mu.Lock()
	at := time.Now()
	now := at.Sub(m.start)
	running := make([]call, 0, len(m.running))
	for _, c := range m.running {
		running = append(running, *c)
	}
	out.EndedTotal, out.FailedTotal, out.DroppedTotal = m.ended, m.failed, int64(dropped)+m.missed //nolint:gosec // not so many
	out.Ended, w.ended = w.ended.calls, worst{}
	for name, s := range m.callers {
		if was := w.callers[name]; s.ended > was.ended {
			callers[name] = &daemonv1.CallerSum{Ended: s.ended - was.ended, Failed: s.failed - was.failed}
		}
	}
	for name, s := range m.plugins {
		was, took := w.plugins[name], s.took.sum(now)
		plugins[name] = &daemonv1.PluginSum{
			Kind: KindHost, Ended: s.ended - was.ended, Failed: s.failed - was.failed, P50Ns: took.below(50), P99Ns: took.below(99),
		}
	}
	out.Latency = w.latency(int64(now / time.Second))
	w.remember()
	m.mu.Unlock()

	out.Time = timestamppb.New(at)
	out.Running, out.RunningTotal = w.running(running, at, callers)
	slices.SortFunc(out.Ended, worse)
	out.Ended = w.concealed(out.Ended)
	out.Callers = callersOf(callers)
	out.Plugins = pluginsOf(status, plugins)
	return out
}

// latency returns the seconds before one that were not told, of the last minute.
func (w *Watch) latency(before int64) (out []*daemonv1.Latency) {
	for w.second = max(w.second, before-minute); w.second < before; w.second++ {
		one := &daemonv1.Latency{}
		if s := &w.meter.seconds[w.second%int64(len(w.meter.seconds))]; s.number == w.second {
			one = &daemonv1.Latency{Ended: s.ended, Failed: s.failed, P50Ns: s.took.below(50), P99Ns: s.took.below(99)}
		}
		out = append(out, one)
	}
	return out
}

// concealed returns calls without texts that may quote secrets, which the record does not have either.
func (w *Watch) concealed(ended []*daemonv1.EndedCall) []*daemonv1.EndedCall {
	for i, c := range ended {
		if t, ok := w.host.Get(c.Tool); len(t.Sensitive) > 0 || !ok && c.Code != string(tool.CodeNotFound) {
			ended[i] = proto.CloneOf(c) // others look at it, too
			ended[i].Message = ""
		}
	}
	return ended
}

// running returns the calls that are to be told of, and how many there are, and counts them for their callers.
func (w *Watch) running(all []call, at time.Time, callers map[string]*daemonv1.CallerSum) (out []*daemonv1.RunningCall, total int32) {
	slices.SortFunc(all, func(a, b call) int { return a.begun.Compare(b.begun) })
	var asking, others []*daemonv1.RunningCall
	for _, c := range all {
		phase := c.at.Phase()
		if phase == "" { // it has just ended, or the meter was not told
			continue
		}
		total++
		by := callers[c.caller]
		if by == nil {
			by = &daemonv1.CallerSum{}
			callers[c.caller] = by
		}
		if phase == "ran" {
			by.Running++
		} else {
			by.Waiting++
		}
		list := &others
		if phase == "asked" {
			list = &asking
		}
		if len(*list) < maxRunning {
			plugin, _ := w.host.OwnerOf(c.tool)
			*list = append(*list, &daemonv1.RunningCall{
				Id: clean(c.id), Tool: clean(c.tool), Plugin: clean(plugin), Caller: clean(c.caller), Account: clean(c.account), Via: clean(c.via),
				Client: clean(c.client), Session: clean(c.session), Parent: clean(c.parent), Phase: phase,
				Begun: timestamppb.New(at.Add(c.begun.Sub(at))), // by the clock as it is now
			})
		}
	}
	out = append(asking, others[:min(len(others), maxRunning-len(asking))]...)
	slices.SortFunc(out, func(a, b *daemonv1.RunningCall) int { return a.Begun.AsTime().Compare(b.Begun.AsTime()) })
	return out, total
}

func callersOf(sums map[string]*daemonv1.CallerSum) []*daemonv1.CallerSum {
	for name, s := range sums {
		s.Name = clean(name)
	}
	out := slices.SortedFunc(maps.Values(sums), func(a, b *daemonv1.CallerSum) int {
		return cmp.Or(cmp.Compare(b.Running+b.Waiting, a.Running+a.Waiting), cmp.Compare(b.Ended, a.Ended), cmp.Compare(a.Name, b.Name))
	})
	return out[:min(len(out), maxCallers)]
}

// KindHost is the kind of what serves tools and is no plugin: another program, or the hosts of a fleet.
const KindHost = "host"

// pluginsOf returns the sums of plugins with their states, and then those of what else had calls.
func pluginsOf(status []plugin.Status, sums map[string]*daemonv1.PluginSum) (out []*daemonv1.PluginSum) {
	for _, p := range status[:min(len(status), maxPlugins)] {
		s := sums[p.Name]
		delete(sums, p.Name)
		if s == nil {
			s = &daemonv1.PluginSum{}
		}
		s.Name, s.Kind, s.State, s.Reason = clean(p.Name), p.Kind, string(p.State), sanitize.Line(p.Reason, maxMessage)
		s.Pid, s.Calls, s.Waiting = int32(p.PID), int32(p.Calls), int32(p.Waiting) //nolint:gosec // of a system
		s.Starts, s.Crashes = int32(p.Starts), int32(p.Crashes)                    //nolint:gosec // not so many
		out = append(out, s)
	}
	for _, name := range slices.Sorted(maps.Keys(sums)) {
		if s := sums[name]; len(out) < maxPlugins && (s.Ended > 0 || s.P50Ns > 0) {
			s.Name = clean(name)
			out = append(out, s)
		}
	}
	return out
}
