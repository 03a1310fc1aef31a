package chain

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/time/rate"

	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// TestBucketsAgreeWithRate checks that a bucket decides exactly as
// golang.org/x/time/rate does, to the nanosecond.
func TestBucketsAgreeWithRate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		dice := rand.New(rand.NewPCG(1, 2))
		for range 200 {
			limit := tool.RateLimit{
				Calls:  1 + dice.IntN(8),
				Period: tool.Duration(1+dice.IntN(100)) * tool.Duration(840*time.Microsecond),
			}
			b := newBuckets(limit)
			want := rate.NewLimiter(rate.Every(time.Duration(limit.Period)/time.Duration(limit.Calls)), limit.Calls)
			for range 100 {
				// Sleep advances the fake time of the synctest bubble.
				time.Sleep(time.Duration(dice.IntN(3)) * time.Duration(limit.Period) / time.Duration(2*limit.Calls))
				r := want.Reserve()
				wait := r.Delay()
				if wait > 0 {
					r.Cancel()
				}
				if got := b.take("x", time.Now()); (got > 0) != (wait > 0) || (got-wait).Abs() > time.Microsecond {
					t.Fatalf("%+v: wait %v, want %v", limit, got, wait)
				}
			}
		}
	})
}

// TestBucketsAtOnce checks that concurrent callers, with however stale times,
// get exactly as many tokens as there are.
func TestBucketsAtOnce(t *testing.T) {
	t.Parallel()
	for round := range 50 {
		b := newBuckets(tool.RateLimit{Calls: 5, Period: tool.Duration(time.Hour)})
		var given atomic.Int64
		var all sync.WaitGroup
		for i := range 8 {
			arrived := time.Now().Add(-time.Duration(i) * time.Millisecond)
			all.Go(func() {
				for range 3 {
					if b.take("x", arrived) == 0 {
						given.Add(1)
					}
				}
			})
		}
		all.Wait()
		if given.Load() != 5 {
			t.Fatalf("round %d: %d tokens, want 5", round, given.Load())
		}
	}
}

// TestBucketsSweep checks that a sweep removes idle callers, keeps busy ones,
// and grants no additional token.
func TestBucketsSweep(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBuckets(tool.RateLimit{Calls: 2, Period: tool.Duration(time.Minute)})
		for i := range manyCallers {
			b.take(fmt.Sprint("quiet ", i), time.Now())
		}
		time.Sleep(50 * time.Second) // fake time of the synctest bubble
		b.take("busy", time.Now())
		b.take("busy", time.Now())
		for i := range manyCallers {
			b.take(fmt.Sprint("new ", i), time.Now())
		}
		if b.callers > manyCallers+1 {
			t.Errorf("%d callers are remembered", b.callers)
		}
		if b.take("busy", time.Now()) == 0 {
			t.Error("the busy caller's bucket is full again")
		}
	})
}

// TestBucketGone checks that a bucket gives no token if it is swept while a
// call holds it.
func TestBucketGone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBuckets(tool.RateLimit{Calls: 1, Period: tool.Duration(time.Hour)})
		l := b.bucket("x", 0)
		b.sweep(time.Nanosecond)
		if _, ok := b.takeFrom(l, time.Nanosecond); ok || b.callers != 0 {
			t.Errorf("it gave a token, with %d callers left", b.callers)
		}
		if b.take("x", time.Now()) > 0 || b.take("x", time.Now()) == 0 {
			t.Error("a new bucket has not one token")
		}
	})
}
