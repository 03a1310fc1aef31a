package fleet

import (
	"context"
	"slices"
	"time"

	"github.com/toolhost/toolhost/host/internal/chain"
	"github.com/toolhost/toolhost/internal/callstage"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// maxWaiting bounds the calls of a tool that wait for a place at a host.
const maxWaiting = 1024

// waiter is a call that waits, as all hosts which can take it are full.
type waiter struct {
	call   *remoteCall
	number uint64        // of its arrival
	placed chan *attempt // its place; nil: it has to look for one itself
}

// wait has a call wait behind those that came before it. One that was refused at its place keeps its number.
func (p *pool) wait(r *remoteCall) (*waiter, error) {
	if r.arrival == 0 {
		if len(p.waiting) >= maxWaiting {
			e := *r.full()
			e.Message += ": and as many of its calls wait here as may"
			return nil, &e
		}
		p.arrivals++
		r.arrival, r.arrived = p.arrivals, time.Now()
	}
	w := &waiter{r, r.arrival, make(chan *attempt, 1)}
	i, _ := slices.BinarySearchFunc(p.waiting, w.number, func(w *waiter, n uint64) int { return int(w.number) - int(n) }) //nolint:gosec // small
	p.waiting = slices.Insert(p.waiting, i, w)
	return w, nil
}

// waits returns how many calls wait, and for how long the one that came first has.
func (p *pool) waits(now time.Time) (n int, oldest time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.waiting) > 0 {
		oldest = now.Sub(p.waiting[0].call.arrived)
	}
	return len(p.waiting), oldest
}

// full is the error of a call that no host has a place for.
func (r *remoteCall) full() *tool.Error {
	if r.refusal != nil {
		return r.refusal
	}
	e := tool.Errorf(tool.CodeResourceExhausted, "each host that can run %s has as many calls as it takes", r.call.Name).
		Of(r.call.Name, Owner).At(callstage.Limit).NeverSent().Try("try again later")
	e.RetryAfter = tool.Duration(fullFor)
	return e
}

// turn waits for the call's place. Nil: it has to look for one itself.
func (r *remoteCall) turn(ctx context.Context, w *waiter) (*attempt, error) {
	p := r.pool
	chain.Yield(ctx) // those that wait here hold up no calls of other tools
	if passed := chain.PassedFrom(ctx); passed != nil {
		p.mu.Lock()
		ahead, own := 0, 0
		for _, x := range p.replicas {
			ahead += len(x.begun)
		}
		for _, other := range p.waiting {
			if other.number < w.number {
				ahead++
			}
			if other != w && other.call.call.Caller == r.call.Caller {
				own++
			}
		}
		p.mu.Unlock()
		defer passed.Trace.Queues(ahead, min(own, ahead))()
	}
	select {
	case a := <-w.placed:
		return a, nil
	case <-ctx.Done():
	}
	p.mu.Lock()
	i := slices.Index(p.waiting, w)
	if i >= 0 {
		p.waiting = slices.Delete(p.waiting, i, i+1)
	}
	p.mu.Unlock()
	if i < 0 { // meanwhile
		if a := <-w.placed; a != nil {
			a.end(outcome{unsent: true})
		}
	}
	return nil, r.gaveUp(ctx)
}

// wake gives a place at a replica to the call that waits longest for one. The lock is held.
func (p *pool) wake(x *replica, now time.Time) {
	for i, w := range p.waiting {
		if w.call.accepts(x.offer.member) {
			p.waiting = slices.Delete(p.waiting, i, i+1)
			w.placed <- x.begin(now)
			return
		}
	}
	x.full = false
}

// admit gives a place at each host that has come, or takes calls again, to a call that waits, and more as those end. Calls that
// are for one host, or have none any more, look themselves. The locks of the directory and the pool are held.
func (p *pool) admit() {
	now := time.Now()
	for _, o := range slices.Concat(p.tiers[:]...) {
		if x := p.replicas[o.member]; len(p.waiting) > 0 && o.member.takes() && (x == nil || !x.full) {
			x = p.of(o)
			x.full, x.retry = true, now
			p.wake(x, now)
			x.lookAgain(fullFor)
		}
	}
	p.waiting = slices.DeleteFunc(p.waiting, func(w *waiter) bool {
		if w.call.only == nil && p.size > 0 {
			return false
		}
		w.placed <- nil
		return true
	})
}

// fill notes that a host had no place for a call. Until it has, its places are for those that wait.
func (x *replica) fill(wait time.Duration) {
	p := x.pool
	p.mu.Lock()
	defer p.mu.Unlock()
	timed := x.full && time.Now().Before(x.retry)
	x.full, x.retry = true, time.Now().Add(wait)
	if !timed {
		x.lookAgain(wait)
	}
}

// lookAgain has one call try, after a while, whether a full host has a place, as others may have had it.
func (x *replica) lookAgain(wait time.Duration) {
	time.AfterFunc(wait, func() {
		p, now := x.pool, time.Now()
		p.mu.Lock()
		defer p.mu.Unlock()
		switch {
		case !x.full || p.replicas[x.offer.member] != x:
		case now.Before(x.retry):
			x.lookAgain(x.retry.Sub(now))
		default:
			if p.wake(x, now); x.full {
				x.lookAgain(fullFor)
			}
		}
	})
}
