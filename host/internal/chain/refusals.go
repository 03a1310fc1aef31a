package chain

import (
	"cmp"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/toolhost/toolhost/host/audit"
)

// Refusals puts on record the calls that do not come as far as the record of calls: the first of a
// caller at once, and those that follow in one line a second, with their number. It is safe for
// concurrent use.
type Refusals struct {
	Audit *Audit // nil: there is no record

	mu     sync.Mutex
	of     map[string]*refused // by what calls are counted under
	closed bool
}

// Refused is a caller that is refused calls.
type Refused struct {
	Caller string    `json:"caller"` // its name, or its session if it has none
	Calls  int       `json:"calls"`  // that were refused, since there was a pause
	Last   time.Time `json:"last"`
	Reason string    `json:"reason"` // of the last
}

type refused struct {
	Refused

	line  audit.Record // of the last that is not on record
	count int          // since the last line
}

const (
	refusalLines = time.Second      // between two lines of a caller
	refusedFor   = 30 * time.Second // how long a caller counts as refused
)

// Note counts a refusal, and has it recorded.
func (r *Refusals) Note(key string, line audit.Record) {
	o, begins := r.add(key, cmp.Or(line.Caller, line.Session), line.Message)
	defer r.mu.Unlock()
	if o == nil {
		return
	}
	o.line = line
	if o.count++; begins {
		r.record(o)
	}
}

// count counts the refusal of a call that is on record.
func (r *Refusals) count(c *Caller, err error) {
	r.add(c.Key, cmp.Or(c.Name, c.Session), err.Error())
	r.mu.Unlock()
}

// add counts a refusal. It returns with mu locked; nil: no more are taken.
func (r *Refusals) add(key, caller, reason string) (o *refused, begins bool) {
	r.mu.Lock()
	if r.closed {
		return nil, false
	}
	if o = r.of[key]; o == nil {
		if r.of == nil {
			r.of = map[string]*refused{}
		}
		o, begins = &refused{}, true
		r.of[key] = o
		time.AfterFunc(refusalLines, func() { r.tick(key, o) })
	}
	o.Caller, o.Last, o.Reason = caller, time.Now(), reason
	o.Calls++
	return o, begins
}

// tick records what came since the last line, until nothing has come for a while.
func (r *Refusals) tick(key string, o *refused) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.closed:
	case o.count == 0 && time.Since(o.Last) > refusedFor:
		delete(r.of, key)
	default:
		r.record(o)
		time.AfterFunc(refusalLines, func() { r.tick(key, o) })
	}
}

// record writes the line of what is not on record. The caller holds mu, so that lines are in order.
func (r *Refusals) record(o *refused) {
	if o.count == 0 || r.Audit == nil {
		return
	}
	o.line.Time, o.line.Refusals = time.Now(), o.count
	if err := r.Audit.write(o.line); err != nil {
		r.Audit.OnError(fmt.Errorf("%d refused calls of the caller %s have no line: %w", o.count, o.Caller, err))
	}
	o.count = 0
}

// Now returns the callers that were refused calls in the last seconds, those refused last first.
func (r *Refusals) Now() []Refused {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []Refused
	for _, o := range r.of {
		if time.Since(o.Last) <= refusedFor {
			out = append(out, o.Refused)
		}
	}
	slices.SortFunc(out, func(a, b Refused) int { return b.Last.Compare(a.Last) })
	return out
}

// Close records what is not on record yet.
func (r *Refusals) Close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	for _, o := range r.of {
		r.record(o)
	}
}
