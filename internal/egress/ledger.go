package egress

import (
	"slices"
	"sync"
)

// Outcome is what happened to a connection.
type Outcome string

// The outcomes.
const (
	Connected Outcome = "connected"
	Refused   Outcome = "refused" // by the sandbox
	Failed    Outcome = "failed"  // allowed, and not reached
)

// Event is what happened to the connections to one target.
type Event struct {
	// Target is host:port, [Others] once there are many, or empty if none was understood.
	Target  string
	Outcome Outcome
	// Reason is what the client was told last; empty: it is connected, or for [Others].
	Reason string
	// Count is how often, so far.
	Count int64
}

// Others stands for all targets after the first 64 of an outcome: a plugin can name millions.
const Others = "other hosts"

const targets = 64

// malformed is the reason of what cannot be read, of which the texts would differ too much.
const malformed = "a request cannot be understood"

// Stats is what a proxy did so far.
type Stats struct {
	Open   int     // connections now
	Events []Event // one for each target and outcome, in the order of their first time
}

// Count is how many connections had this outcome.
func (s Stats) Count(o Outcome) (n int64) {
	for _, e := range s.Events {
		if e.Outcome == o {
			n += e.Count
		}
	}
	return n
}

// ledger counts events, a bounded number of them.
type ledger struct {
	mu     sync.Mutex
	events []Event
}

// Stats returns what the proxy did so far.
func (p *Proxy) Stats() Stats {
	p.mu.Lock()
	open := p.open
	p.mu.Unlock()
	p.ledger.mu.Lock()
	defer p.ledger.mu.Unlock()
	return Stats{open, slices.Clone(p.ledger.events)}
}

// report counts an outcome and passes it on the 1st, 10th, 100th time and so on.
func (p *Proxy) report(o Outcome, target, reason string) {
	e := p.ledger.count(o, target, reason)
	for n := e.Count; ; n /= 10 {
		if n == 1 {
			p.opts.Report(e)
		}
		if n%10 != 0 {
			return
		}
	}
}

func (l *ledger) count(o Outcome, target, reason string) Event {
	l.mu.Lock()
	defer l.mu.Unlock()
	i, same := -1, 0
	for j, e := range l.events {
		if e.Outcome == o {
			if same++; e.Target == target {
				i = j
			}
		}
	}
	if i < 0 && same >= targets && target != Others {
		target, reason = Others, ""
		i = slices.IndexFunc(l.events, func(e Event) bool { return e.Outcome == o && e.Target == Others })
	}
	if i < 0 {
		l.events = append(l.events, Event{Target: target, Outcome: o})
		i = len(l.events) - 1
	}
	e := &l.events[i]
	e.Reason = reason
	e.Count++
	return *e
}
