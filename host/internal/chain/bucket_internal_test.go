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

// The bucket in one number decides as golang.org/x/time/rate does, to the
// nanosecond.
func TestBucketsAgreeWithRate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		dice := rand.New(rand.NewPCG(1, 2))
		for range 200 {
			limit := tool.RateLimit{Calls: 1 + dice.IntN(8), Period: tool.Duration(1+dice.IntN(100)) * tool.Duration(840*time.Microsecond)}
			b := newBuckets(limit)
			want := rate.NewLimiter(rate.Every(time.Duration(limit.Period)/time.Duration(limit.Calls)), limit.Calls)
			for range 100 {
				time.Sleep(time.Duration(dice.IntN(3)) * time.Duration(limit.Period) / time.Duration(2*limit.Calls)) // in the bubble's time
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

// However many ask at once, with whatever stale time: exactly so many get a token.
func TestBucketsAtOnce(t *testing.T) {
	t.Parallel()
	for round := range 50 {
		b := newBuckets(tool.RateLimit{Calls: 5, Period: tool.Duration(time.Hour)})
		var given atomic.Int64
		var all sync.WaitGroup
		for i := range 8 {
			came := time.Now().Add(-time.Duration(i) * time.Millisecond)
			all.Go(func() {
				for range 3 {
					if b.take("x", came) == 0 {
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

// Quiet callers are forgotten, busy ones are not, and nobody gets a token more
// because of it.
func TestBucketsSweep(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBuckets(tool.RateLimit{Calls: 2, Period: tool.Duration(time.Minute)})
		for i := range manyCallers {
			b.take(fmt.Sprint("quiet ", i), time.Now())
		}
		time.Sleep(50 * time.Second) // in the bubble's time
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

// A bucket that is swept while a call has it in its hands gives no token.
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
