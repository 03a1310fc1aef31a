package chain

import (
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// manyCallers is when buckets are looked through for such as are full again: a
// full one is as good as none.
const manyCallers = 1024

// buckets are one tool's, one for each caller. Taking from one that is there
// takes no lock.
type buckets struct {
	every time.Duration // one token
	slack time.Duration // all tokens but one
	epoch time.Time     // times are kept as what has passed since then

	byCaller sync.Map // of string to *bucket

	mu      sync.Mutex // of those who add and sweep
	callers int
	sweepAt int
}

// bucket is when it will be full, as a [time.Duration] since the epoch. That one
// number is all there is to a bucket that fills at an even pace (the generic
// cell rate algorithm, ITU-T I.371), so that a token is one compare-and-swap.
type bucket struct{ full atomic.Int64 }

// gone is the number of a bucket that was swept away.
const gone = math.MinInt64

func newBuckets(limit tool.RateLimit) *buckets {
	every := time.Duration(limit.Period) / time.Duration(limit.Calls)
	return &buckets{
		every: every, slack: every * time.Duration(limit.Calls-1),
		epoch: time.Now(), sweepAt: manyCallers,
	}
}

// take gives a token, or says how long to wait for one.
func (b *buckets) take(caller string, at time.Time) time.Duration {
	came := at.Sub(b.epoch)
	for {
		if wait, ok := b.takeFrom(b.bucket(caller, came), came); ok {
			return wait
		}
	}
}

// takeFrom is ok unless the bucket is gone.
func (b *buckets) takeFrom(l *bucket, came time.Duration) (wait time.Duration, ok bool) {
	for {
		old := l.full.Load()
		if old == gone {
			return 0, false
		}
		if time.Duration(old)-came > b.slack {
			// Refusals are as of now: the bucket may know of calls that came later
			// than this one. The clock is read after the bucket, so it is past them.
			came = time.Since(b.epoch)
			if wait := time.Duration(old) - came - b.slack; wait > 0 {
				return wait, true
			}
		}
		if l.full.CompareAndSwap(old, int64(max(time.Duration(old), came)+b.every)) {
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

// sweep forgets callers that have been quiet, before there are too many. A call
// that has such a bucket in its hands sees that it is gone.
func (b *buckets) sweep(now time.Duration) {
	b.byCaller.Range(func(caller, l any) bool {
		if full := l.(*bucket).full.Load(); full < int64(now) && l.(*bucket).full.CompareAndSwap(full, gone) {
			b.byCaller.Delete(caller)
			b.callers--
		}
		return true
	})
	b.sweepAt = max(manyCallers, 2*b.callers) // so that sweeping stays cheap on average
}
