// Package activity sums what the calls of a daemon do, for those who look. What it keeps is bounded, whatever
// callers do, and without those who look it only counts. Begin with [New].
package activity

import (
	"maps"
	"sync"
	"time"

	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Bounds of what is kept.
const (
	maxKept  = 4096 // calls that run
	maxNames = 1000 // callers, and plugins, with sums of their own
	other    = "(other)"
	minute   = 60 // in seconds
)

// Meter is told of each call. It is safe for concurrent use.
type Meter struct {
	start time.Time // what it counts from: clocks may be set

	mu            sync.Mutex
	running       map[string]*call // by their IDs
	swept         time.Duration    // when there was last no room for one
	free          []*call          // to be used again
	callers       map[string]*sum
	plugins       map[string]*sum
	seconds       [minute + 2]second // of the last minute, by their numbers
	ended, failed int64
	missed        int64 // calls for which there was no room
	watches       map[*Watch]bool
	recent        worst         // of this minute, for who comes
	before        worst         // of the one before
	turned        time.Duration // when that ended
}

// call is one that runs.
type call struct {
	id, tool, caller, account, via, client, session, parent string

	begun time.Time
	at    interface{ Phase() string }
}

// sum is what the calls of a caller, or of a plugin, came to.
type sum struct {
	ended, failed int64
	last          time.Duration // when the last one ended
	took          *window       // nil: it is a caller
}

type second struct {
	number        int64
	ended, failed int64
	took          durations
}

// New returns a meter that has seen nothing.
func New() *Meter {
	return &Meter{
		start: time.Now(), running: map[string]*call{}, callers: map[string]*sum{}, plugins: map[string]*sum{},
		watches: map[*Watch]bool{},
	}
}

// Begin notes a call that has come in.
func (m *Meter) Begin(e policy.Event) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.running) >= maxKept && !m.sweep(e.Time.Sub(m.start)) {
		m.missed++
		return
	}
	var c *call
	if n := len(m.free); n > 0 {
		c, m.free = m.free[n-1], m.free[:n-1]
	} else {
		c = new(call)
	}
	*c = call{e.Call.ID, e.Call.Name, e.Caller, e.Account, e.Via, e.Client, e.Session, e.Parent, e.Time, e.Running}
	m.running[c.id] = c
}

// sweep forgets the calls of whose end the meter was not told, and reports whether there is room for another.
func (m *Meter) sweep(now time.Duration) bool {
	if now-m.swept < time.Second {
		return false
	}
	m.swept = now
	maps.DeleteFunc(m.running, func(_ string, c *call) bool { return c.at.Phase() == "" })
	return len(m.running) < maxKept
}

// End notes how a call has ended.
func (m *Meter) End(e policy.Event) {
	code := tool.Code("")
	if e.Err != nil {
		code = tool.CodeOf(e.Err)
	} else if e.Result.IsError {
		code = tool.CodeToolFailed
	}
	now := e.Time.Add(e.Duration).Sub(m.start)
	m.mu.Lock()
	defer m.mu.Unlock()
	if c := m.running[e.Call.ID]; c != nil {
		delete(m.running, e.Call.ID)
		*c = call{}
		m.free = append(m.free, c)
	}
	s := m.second(now)
	s.took[bucketOf(e.Duration)]++
	counts := []*sum{sumOf(m.callers, e.Caller, now), nil}[:1]
	if e.Plugin != "" {
		of := sumOf(m.plugins, e.Plugin, now)
		if of.took == nil {
			of.took = new(window)
		}
		of.took.add(now, e.Duration)
		counts = append(counts, of)
	}
	m.ended, s.ended = m.ended+1, s.ended+1
	if code != "" {
		m.failed, s.failed = m.failed+1, s.failed+1
	}
	for _, one := range counts {
		one.ended++
		if code != "" {
			one.failed++
		}
	}
	m.note(e, code, now)
}

// second returns the counts of the second that a time is in.
func (m *Meter) second(now time.Duration) *second {
	n := int64(now / time.Second)
	s := &m.seconds[n%int64(len(m.seconds))]
	if s.number < n {
		*s = second{number: n}
	}
	return s
}

// sumOf returns the sums of a name. Those that were not heard of for a minute make room for others; if
// there is none, what is left is summed together.
func sumOf(all map[string]*sum, name string, now time.Duration) *sum {
	s, rest := all[name], all[other]
	if s == nil && len(all) >= maxNames && rest != nil && now-rest.last < time.Second {
		s = rest
	}
	if s == nil && len(all) >= maxNames {
		maps.DeleteFunc(all, func(_ string, one *sum) bool { return now-one.last > minute*time.Second })
		if len(all) >= maxNames {
			name, s = other, rest
		}
	}
	if s == nil {
		s = new(sum)
		all[name] = s
	}
	s.last = now
	return s
}

// Load is how many calls of a caller run, and wait for an answer, a start or their turn.
type Load struct{ Running, Waiting int }

// Loads returns the load of each caller that has calls.
func (m *Meter) Loads() map[string]Load {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := map[string]Load{}
	for _, c := range m.running {
		l := out[c.caller]
		switch c.at.Phase() {
		case "ran":
			l.Running++
		case "": // it has just ended
			continue
		default:
			l.Waiting++
		}
		out[c.caller] = l
	}
	return out
}
