package chain

import (
	"sync"
	"time"

	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Rates counts the calls of each caller. A host has one, so that a tool that is compiled again,
// as for an upgrade, keeps its counts. Create it with [NewRates].
type Rates struct {
	file *rateFile // nil: counts are kept in memory

	mu     sync.Mutex // never held during a call
	tools  map[string]*buckets
	quotas map[string]*Quota
	// sweepAt is the number of either at which idle ones are forgotten.
	sweepAt int
}

// manyNames is the number of tools, and of callers, at which the first sweep removes idle ones.
const manyNames = 1024

// NewRates returns rates that are counted in a file, together with other processes that use it;
// an empty path: in memory.
func NewRates(path string) *Rates {
	r := &Rates{tools: map[string]*buckets{}, quotas: map[string]*Quota{}, sweepAt: manyNames}
	if path != "" {
		r.file = &rateFile{path: path}
	}
	return r
}

// Close closes the file of the counts. A call that comes later opens it again.
func (r *Rates) Close() {
	if r.file != nil {
		r.file.mu.Lock()
		defer r.file.mu.Unlock()
		r.file.close()
	}
}

// tool returns the buckets of a tool. Another limit begins with full buckets.
func (r *Rates) tool(name string, limit tool.RateLimit) *buckets {
	r.mu.Lock()
	defer r.mu.Unlock()
	if b := r.tools[name]; b != nil && b.limit == limit {
		return b
	}
	b := newBuckets(limit)
	b.of, b.file = name, r.fileFor(limit)
	r.tools[name] = b
	r.sweep()
	return b
}

// Quota returns what bounds the calls of a caller, over all its sessions; nil: nothing does.
// Rate nil: any number of calls; most 0: any number at a time. Other bounds than before begin
// with a count of zero.
func (r *Rates) Quota(caller string, rate *tool.RateLimit, most int) *Quota {
	if rate != nil && unlimited(*rate) {
		rate = nil
	}
	if rate == nil && most <= 0 {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if q := r.quotas[caller]; q != nil && q.most == most && q.hasRate(rate) {
		return q
	}
	q := &Quota{most: most}
	if rate != nil {
		q.calls = newBuckets(*rate)
		q.calls.file = r.fileFor(*rate)
	}
	r.quotas[caller] = q
	r.sweep()
	return q
}

// sweep forgets the tools and callers whose buckets are full, if there are many. The caller
// holds mu.
func (r *Rates) sweep() {
	if max(len(r.tools), len(r.quotas)) <= r.sweepAt {
		return
	}
	for name, b := range r.tools {
		if b.idle() {
			delete(r.tools, name)
		}
	}
	for name, q := range r.quotas {
		if q.running.Load() == 0 && (q.calls == nil || q.calls.idle()) {
			delete(r.quotas, name)
		}
	}
	r.sweepAt = max(manyNames, 2*len(r.tools), 2*len(r.quotas)) // keeps the cost of sweeping constant
}

// fileFor returns the file in which calls are counted; nil: they are counted in memory. A limit of
// more than a million calls a second is one that processes together do not reach either: counting
// a call in the file takes longer than a microsecond.
func (r *Rates) fileFor(limit tool.RateLimit) *rateFile {
	if time.Duration(limit.Period) < time.Duration(limit.Calls)*time.Microsecond {
		return nil
	}
	return r.file
}

// unlimited reports whether a limit allows more than one call per nanosecond.
func unlimited(limit tool.RateLimit) bool {
	return limit.Calls <= 0 || time.Duration(limit.Period) < time.Duration(limit.Calls)
}
