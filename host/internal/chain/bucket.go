package chain

import (
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/toolhost/toolhost/internal/callstage"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// manyCallers is the number of buckets at which the first sweep removes full
// ones: a full bucket behaves like a new one.
const manyCallers = 1024

// buckets are the buckets of one tool, one for each caller. Taking a token from
// an existing bucket needs no lock. With a file, the tokens are counted there.
type buckets struct {
	of    string // the tool; empty: all tools together
	limit tool.RateLimit
	file  *rateFile     // nil: tokens are counted here
	every time.Duration // time to gain one token
	slack time.Duration // time to gain all tokens but one
	epoch time.Time     // the zero of all times in buckets

	byCaller sync.Map // of string to *bucket

	mu      sync.Mutex // held to add and to sweep
	callers int
	sweepAt int
}

// bucket stores the time at which it will be full, as a [time.Duration] since
// the epoch. A bucket that fills at an even pace needs no other state (generic
// cell rate algorithm, ITU-T I.371), so taking a token is one compare-and-swap.
type bucket struct{ full atomic.Int64 }

// gone marks a bucket that was removed by a sweep.
const gone = math.MinInt64

func newBuckets(limit tool.RateLimit) *buckets {
	every := time.Duration(limit.Period) / time.Duration(limit.Calls)
	return &buckets{
		limit: limit, every: every, slack: every * time.Duration(limit.Calls-1),
		epoch: time.Now(), sweepAt: manyCallers,
	}
}

// charge takes a token of the call's caller as of the time the call came in, or returns why it
// is refused: too many calls, as the text says, or a file that cannot be used.
func (b *buckets) charge(t *Trace, call tool.Call, tooMany func() string) error {
	account := t.caller().Key
	var wait time.Duration
	if b.file == nil {
		wait = b.take(account, t.Begin)
	} else {
		var err error
		if wait, err = b.file.take(account, b, time.Now()); err != nil {
			return refuse(callstage.RateLimit, tool.CodeUnavailable, call.Name,
				fmt.Sprintf("tool %s did not run, because its calls cannot be counted: %v", call.Name, err),
				"mend or remove the file").Because(err)
		}
	}
	if wait <= 0 {
		return nil
	}
	e := refuse(callstage.RateLimit, tool.CodeRateLimited, call.Name, tooMany(),
		fmt.Sprintf("try again in %v", wait.Round(time.Millisecond)+time.Millisecond))
	e.RetryAfter = tool.Duration(wait)
	return e
}

// idle reports whether all buckets are full, so that nothing is lost with them.
func (b *buckets) idle() bool {
	now, idle := int64(time.Since(b.epoch)), true
	b.byCaller.Range(func(_, l any) bool {
		idle = l.(*bucket).full.Load() <= now
		return idle
	})
	return idle
}

// take takes a token and returns 0, or returns how long to wait for one.
func (b *buckets) take(caller string, at time.Time) time.Duration {
	arrived := at.Sub(b.epoch)
	for {
		if wait, ok := b.takeFrom(b.bucket(caller, arrived), arrived); ok {
			return wait
		}
	}
}

// takeFrom takes a token from one bucket. It reports false if a sweep has
// removed the bucket.
func (b *buckets) takeFrom(l *bucket, arrived time.Duration) (wait time.Duration, ok bool) {
	for {
		old := l.full.Load()
		if old == gone {
			return 0, false
		}
		if time.Duration(old)-arrived > b.slack {
			// A refused call waits from now on: the bucket may already count
			// calls that came in after this one. The clock is read after the
			// bucket, so it is later than all of them.
			arrived = time.Since(b.epoch)
			if wait := time.Duration(old) - arrived - b.slack; wait > 0 {
				return wait, true
			}
		}
		if l.full.CompareAndSwap(old, int64(max(time.Duration(old), arrived)+b.every)) {
			return 0, true
		}
	}
}

func (b *buckets) bucket(caller string, now time.Duration) *bucket {
	if l, ok := b.byCaller.Load(caller); ok {
		return l.(*bucket)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	l, there := b.byCaller.LoadOrStore(caller, newBucket(now))
	if !there {
		if b.callers++; b.callers > b.sweepAt {
			b.sweep(now)
		}
	}
	return l.(*bucket)
}

func newBucket(now time.Duration) *bucket {
	b := &bucket{}
	b.full.Store(int64(now))
	return b
}

// sweep removes the buckets of idle callers, to bound their number. A call that
// still holds such a bucket sees that it is gone.
func (b *buckets) sweep(now time.Duration) {
	b.byCaller.Range(func(caller, l any) bool {
		if full := l.(*bucket).full.Load(); full < int64(now) && l.(*bucket).full.CompareAndSwap(full, gone) {
			b.byCaller.Delete(caller)
			b.callers--
		}
		return true
	})
	b.sweepAt = max(manyCallers, 2*b.callers) // keeps the amortized cost of sweeping constant
}
