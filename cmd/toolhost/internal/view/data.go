// Package view makes a screen of text of what a daemon does. It knows no terminal: [Data] takes in what the
// daemon tells, and [Screen] draws it.
package view

import (
	"maps"
	"slices"
	"time"

	daemonv1 "github.com/toolhost/toolhost/proto/toolhost/daemon/v1"
)

// Bounds of what is remembered.
const (
	maxSeconds = 300
	maxEnded   = 200
	maxNames   = 1000
)

// Data is what is known of a daemon. It never changes: [Data.With] returns another one.
type Data struct {
	Now *daemonv1.Activity // the newest; nil: there was none

	seconds []*daemonv1.Latency // the newest last
	ended   []*daemonv1.EndedCall
	callers map[string]tally
	plugins map[string]tally
}

// tally is what a name's calls came to, and what they come to now.
type tally struct {
	ended, failed int64
	rate          float64 // of calls a second
	cpu           float64 // of one processor, in percent
}

// With returns the data with what the daemon tells next. First says that it is the first of a stream, which has
// the sums since the daemon began.
func (d *Data) With(a *daemonv1.Activity, first bool) *Data {
	out := &Data{Now: a, callers: map[string]tally{}, plugins: map[string]tally{}}
	var passed time.Duration
	before := map[string]int64{} // the time of processors
	if !first {
		passed = a.GetTime().AsTime().Sub(d.Now.GetTime().AsTime())
		out.callers, out.plugins = maps.Clone(d.callers), maps.Clone(d.plugins)
		for _, p := range d.Now.GetPlugins() {
			before[p.GetName()] = p.GetCpuNs()
		}
	}
	add := func(to map[string]tally, name string, ended, failed int64) tally {
		t := to[name]
		t.ended, t.failed = t.ended+ended, t.failed+failed
		if passed > 0 {
			t.rate = float64(ended) / passed.Seconds()
		}
		to[name] = t
		return t
	}
	for name, t := range out.callers {
		t.rate = 0
		out.callers[name] = t
	}
	for _, c := range a.GetCallers() {
		add(out.callers, c.GetName(), c.GetEnded(), c.GetFailed())
	}
	for _, p := range a.GetPlugins() {
		t := add(out.plugins, p.GetName(), p.GetEnded(), p.GetFailed())
		if t.cpu = 0; passed > 0 && before[p.GetName()] > 0 {
			t.cpu = max(0, 100*float64(p.GetCpuNs()-before[p.GetName()])/float64(passed))
		}
		out.plugins[p.GetName()] = t
	}
	for name := range out.callers { // which are strangers' names
		if len(out.callers) <= maxNames {
			break
		}
		delete(out.callers, name)
	}
	var seconds []*daemonv1.Latency
	var ended []*daemonv1.EndedCall
	if d != nil {
		seconds, ended = d.seconds, d.ended
		if first { // it tells of the last minute again
			seconds, ended = nil, nil
		}
	}
	out.seconds = slices.Concat(seconds, a.GetLatency())
	out.seconds = out.seconds[max(0, len(out.seconds)-maxSeconds):]
	newest := slices.SortedFunc(slices.Values(a.GetEnded()), func(x, y *daemonv1.EndedCall) int { return endOf(y).Compare(endOf(x)) })
	out.ended = slices.Concat(newest, ended)
	out.ended = out.ended[:min(len(out.ended), maxEnded)]
	return out
}

func endOf(c *daemonv1.EndedCall) time.Time {
	return c.GetBegun().AsTime().Add(time.Duration(c.GetTookNs()))
}
