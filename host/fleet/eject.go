package fleet

import (
	"fmt"
	"math/rand/v2"
	"time"
)

// When a replica is ejected, and for how long.
const (
	failuresInARow = 5
	leastCalls     = 10 // in the time of a window, of which half have failed
	ejectedFor     = 5 * time.Second
	longestEjected = time.Minute
)

// window counts calls of the last ten seconds.
type window [10]struct {
	second        int64
	calls, failed int
}

func (w *window) add(now time.Time, failed bool) {
	second := now.Unix()
	b := &w[second%int64(len(w))]
	if b.second != second {
		b.second, b.calls, b.failed = second, 0, 0
	}
	b.calls++
	if failed {
		b.failed++
	}
}

func (w *window) sum(now time.Time) (calls, failed int) {
	for _, b := range w {
		if now.Unix()-b.second < int64(len(w)) {
			calls, failed = calls+b.calls, failed+b.failed
		}
	}
	return calls, failed
}

// judge takes into account that a call has failed, or was well if there is no reason, and ejects a replica that fails more than
// the others.
func (x *replica) judge(why string, now time.Time) {
	p := x.pool
	x.window.add(now, why != "")
	p.window.add(now, why != "")
	if why == "" {
		x.failures = 0
		if !now.Before(x.ejected) {
			x.ejected, x.why = time.Time{}, ""
		}
		return
	}
	x.failed++
	x.failures++
	calls, failed := x.window.sum(now)
	switch again := !x.ejected.IsZero(); {
	case again && now.Before(x.ejected): // a call from before
		return
	case again:
	case x.failures < failuresInARow && (calls < leastCalls || 2*failed < calls):
		return
	default:
		all, allFailed := p.window.sum(now)
		others, othersFailed := all-calls, allFailed-failed
		if 2*othersFailed*calls >= failed*others && others > 0 || 2*(p.ejected()+1) > p.size {
			return
		}
	}
	x.times++
	d := min(time.Duration(x.times)*ejectedFor, longestEjected)
	x.ejected = now.Add(d - d/5 + rand.N(2*d/5+1)) //nolint:gosec // not a secret
	x.why = fmt.Sprintf("%d calls in a row failed there, the last as %s", x.failures, why)
	if x.failures < failuresInARow {
		x.why = fmt.Sprintf("%d of %d calls failed there in 10 s, the last as %s", failed, calls, why)
	}
}

// ejected counts the replicas that are.
func (p *pool) ejected() int {
	n := 0
	for _, x := range p.replicas {
		if !x.ejected.IsZero() {
			n++
		}
	}
	return n
}

// isEjected reports whether calls go elsewhere. One at a time is tried after that.
func (x *replica) isEjected(now time.Time) bool {
	return !x.ejected.IsZero() && (now.Before(x.ejected) || len(x.begun) > 0)
}
