// Package share divides what callers use together, so that none of them shuts out the others. Begin
// with [NewPool].
package share

import "sync"

// Pool is something of which there is only so much: places, or bytes. Each caller may take as much as
// it leaves free for others: half if it is alone, and always something for one who comes later. It is
// safe for concurrent use; a nil pool has no bound.
type Pool struct {
	most int

	mu   sync.Mutex
	used int
	of   map[string]int
}

// NewPool returns a pool of so many places or bytes.
func NewPool(most int) *Pool { return &Pool{most: most, of: map[string]int{}} }

// Take takes n for a caller, which [Pool.Give] returns, and says how much the caller has had so far,
// and others together. It takes nothing if that is more than would be left.
func (p *Pool) Take(caller string, n int) (own, others int, ok bool) {
	if p == nil {
		return 0, 0, true
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	own = p.of[caller]
	others = p.used - own
	if own+n > p.most-p.used-n {
		return own, others, false
	}
	p.used += n
	p.of[caller] = own + n
	return own, others, true
}

// Give returns what a caller has taken.
func (p *Pool) Give(caller string, n int) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.used -= n
	if p.of[caller] -= n; p.of[caller] == 0 {
		delete(p.of, caller)
	}
}

// Most returns how much there is.
func (p *Pool) Most() int { return p.most }

// Used returns how much is taken.
func (p *Pool) Used() int {
	if p == nil {
		return 0
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.used
}
