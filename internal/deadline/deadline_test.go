package deadline_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolhost/toolhost/internal/deadline"
	"github.com/toolhost/toolhost/internal/test/assert"
)

var errLimit, errGone = errors.New("the limit"), errors.New("the caller is gone")

// end describes one way to end a context, at a given moment.
type end struct {
	name     string
	at       time.Duration // the deadline, from now; 0: none
	parentAt time.Duration // the parent's deadline; 0: none
	cancel   time.Duration // when Cancel is called; 0: never
	gone     time.Duration // when the parent is canceled; 0: never
}

var ends = []end{
	{"never", 0, 0, 0, 0},
	{"deadline", time.Second, 0, 0, 0},
	{"parent's deadline", 0, time.Second, 0, 0},
	{"parent's deadline first", 2 * time.Second, time.Second, 0, 0},
	{"parent's deadline later", time.Second, 2 * time.Second, 0, 0},
	{"by hand", 0, 0, time.Second, 0},
	{"by hand before the deadline", 2 * time.Second, 0, time.Second, 0},
	{"parent", 0, 0, 0, time.Second},
	{"parent before the deadline", 2 * time.Second, 0, 0, time.Second},
	{"parent before by hand", 5 * time.Second, 0, 2 * time.Second, time.Second},
	{"by hand before parent", 5 * time.Second, 0, time.Second, 2 * time.Second},
	{"deadline before by hand and parent", time.Second, 0, 2 * time.Second, 3 * time.Second},
	{"a deadline that is past", -time.Second, 0, 0, 0},
}

// pair is one of our contexts and an equivalent one of the standard library.
type pair struct{ ours, theirs context.Context }

// start creates the pair and schedules what ends it.
func start(t *testing.T, e end) pair {
	t.Helper()
	at := time.Time{}
	if e.at != 0 {
		at = time.Now().Add(e.at)
	}
	parent, gone := context.WithCancelCause(context.WithValue(t.Context(), key{}, "value"))
	stop := context.CancelFunc(func() {})
	if e.parentAt != 0 {
		parent, stop = context.WithTimeout(parent, e.parentAt)
	}
	ours := deadline.New(parent, at, errLimit)
	theirs, cancel := context.WithCancelCause(parent)
	both := pair{ours, theirs}
	stopTheirs := context.CancelFunc(func() {})
	if !at.IsZero() {
		both.theirs, stopTheirs = context.WithDeadlineCause(theirs, at, errLimit)
	}
	byHand := func() {
		ours.Cancel(nil)
		cancel(nil)
	}
	after := func(d time.Duration, f func()) {
		if d != 0 {
			time.AfterFunc(d, f)
		}
	}
	after(e.cancel, byHand)
	after(e.gone, func() { gone(errGone) })
	t.Cleanup(func() {
		byHand()
		stopTheirs()
		stop()
		gone(nil)
	})
	return both
}

type key struct{}

// state describes everything observable about a context.
func state(ctx context.Context, done bool) string {
	at, ok := ctx.Deadline()
	s := fmt.Sprint(ctx.Err(), "; ", deadline.Cause(ctx), "; ", at.UnixNano(), ok, "; ", ctx.Value(key{}))
	if done {
		select {
		case <-ctx.Done():
			s += "; done"
		default:
		}
		s += fmt.Sprint("; ", context.Cause(ctx))
	}
	return s
}

// TestLikeTheStandardLibrary checks that our context always equals the standard
// library's, whether Done is called at the start, in the middle, or never.
func TestLikeTheStandardLibrary(t *testing.T) {
	t.Parallel()
	for _, e := range ends {
		for _, waits := range []time.Duration{0, 1500 * time.Millisecond, time.Hour} {
			t.Run(fmt.Sprint(e.name, ", waited for after ", waits), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					both := start(t, e)
					for now := time.Duration(0); now < 4*time.Second; now += 500 * time.Millisecond {
						done := now >= waits
						if got, want := state(both.ours, done), state(both.theirs, done); got != want {
							t.Errorf("after %v: %s, want %s", now, got, want)
						}
						time.Sleep(500*time.Millisecond + 1) // fake time of the synctest bubble
						synctest.Wait()
					}
				})
			})
		}
	}
}

// TestChildren checks that children of our context end as children of the
// standard library's do.
func TestChildren(t *testing.T) {
	t.Parallel()
	children := map[string]func(context.Context) (context.Context, context.CancelFunc){
		"value": func(c context.Context) (context.Context, context.CancelFunc) {
			return context.WithValue(c, key{}, "new"), func() {}
		},
		"cancel": context.WithCancel,
		"timeout": func(c context.Context) (context.Context, context.CancelFunc) {
			return context.WithTimeout(c, 1500*time.Millisecond)
		},
		"later": func(c context.Context) (context.Context, context.CancelFunc) {
			return context.WithTimeout(c, time.Hour)
		},
		"detached": func(c context.Context) (context.Context, context.CancelFunc) {
			return context.WithoutCancel(c), func() {}
		},
		"deadline": func(c context.Context) (context.Context, context.CancelFunc) {
			child := deadline.New(c, time.Now().Add(time.Hour), nil)
			return child, func() { child.Cancel(nil) }
		},
	}
	for _, e := range ends {
		for name, child := range children {
			t.Run(e.name+", "+name, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					both := start(t, e)
					ours, stopOurs := child(both.ours)
					defer stopOurs()
					theirs, stopTheirs := child(both.theirs)
					defer stopTheirs()
					for now := range 8 {
						if got, want := state(ours, now > 5), state(theirs, now > 5); got != want {
							t.Errorf("after %d half seconds: %s, want %s", now, got, want)
						}
						time.Sleep(500*time.Millisecond + 1) // fake time of the synctest bubble
						synctest.Wait()
					}
				})
			})
		}
	}
}

// TestWakes checks that Done is closed at the deadline, not before and not
// after.
func TestWakes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		c := deadline.New(t.Context(), begin.Add(time.Minute), errLimit)
		defer c.Cancel(nil)
		called := time.Duration(0)
		stop := context.AfterFunc(c, func() { called = time.Since(begin) })
		defer stop()
		<-c.Done()
		synctest.Wait()
		if d := time.Since(begin); d != time.Minute || called != time.Minute {
			t.Errorf("woken after %v, and AfterFunc after %v", d, called)
		}
		if !errors.Is(c.Err(), context.DeadlineExceeded) || !errors.Is(context.Cause(c), errLimit) {
			t.Errorf("%v, because %v", c.Err(), context.Cause(c))
		}
	})
}

// TestStays checks that the first observed outcome is final.
func TestStays(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		parent, gone := context.WithCancelCause(t.Context())
		c := deadline.New(parent, time.Now().Add(time.Second), errLimit)
		time.Sleep(2 * time.Second) // fake time of the synctest bubble
		before := state(c, false)
		gone(errGone)
		c.Cancel(errors.New("something else"))
		c.Cancel(nil)
		assert.Equalf(t, state(c, false), before, "first %s, then", before)
		<-c.Done()
		if after := state(c, false); after != before || !errors.Is(context.Cause(c), errLimit) {
			t.Errorf("first %s, and when waited for %s", before, after)
		}
	})
}

func TestCancelCause(t *testing.T) {
	t.Parallel()
	for _, wait := range []bool{false, true} {
		c := deadline.New(t.Context(), time.Time{}, nil)
		if wait {
			c.Done()
		}
		c.Cancel(errGone)
		c.Cancel(errLimit)
		<-c.Done()
		if !errors.Is(c.Err(), context.Canceled) || !errors.Is(deadline.Cause(c), errGone) ||
			!errors.Is(context.Cause(c), errGone) {
			t.Errorf("%v, because %v, %v", c.Err(), deadline.Cause(c), context.Cause(c))
		}
	}
}

// wrapped is a context of another implementation around ours.
type wrapped struct{ context.Context }

// TestCauseBelowOthers checks that Cause finds our context below others.
func TestCauseBelowOthers(t *testing.T) {
	t.Parallel()
	outer := deadline.New(t.Context(), time.Now().Add(-time.Second), errLimit)
	defer outer.Cancel(nil)
	inner := deadline.New(wrapped{outer}, time.Now().Add(time.Hour), errGone)
	defer inner.Cancel(nil)
	for _, ctx := range []context.Context{
		outer, wrapped{outer}, inner, wrapped{inner}, context.WithValue(inner, key{}, 1),
	} {
		if got := deadline.Cause(ctx); !errors.Is(got, errLimit) {
			t.Errorf("%T: because %v", ctx, got)
		}
	}
	if inner.Parent() != (wrapped{outer}) {
		t.Errorf("the parent is %v", inner.Parent())
	}
	if got := deadline.Cause(t.Context()); got != nil {
		t.Errorf("a context that goes on ended because %v", got)
	}
}

// TestConcurrentUse uses one context concurrently, for the race detector.
func TestConcurrentUse(t *testing.T) {
	t.Parallel()
	for range 300 {
		parent, gone := context.WithCancel(t.Context())
		c := deadline.New(parent, time.Now().Add(time.Duration(rand.IntN(100))*time.Microsecond), errLimit)
		var all sync.WaitGroup
		for _, f := range []func(){
			func() { <-c.Done() }, func() { _ = c.Err() }, func() { _ = deadline.Cause(c) }, func() { c.Value(key{}) },
			func() { c.Cancel(errGone) }, gone,
			func() {
				child, stop := context.WithCancel(c)
				defer stop()
				<-child.Done()
			},
		} {
			all.Go(f)
		}
		all.Wait()
		if c.Err() == nil || deadline.Cause(c) == nil {
			t.Fatalf("%v, because %v", c.Err(), deadline.Cause(c))
		}
	}
}

// TestLeavesNothing checks that Cancel releases everything Done has allocated:
// it leaves no goroutine, and no child registered with the parent.
func TestLeavesNothing(t *testing.T) {
	t.Parallel()
	parent, gone := context.WithCancel(t.Context())
	defer gone()
	const n = 100
	freed := make(chan struct{}, n)
	for range n {
		c := deadline.New(parent, time.Now().Add(time.Hour), nil)
		runtime.AddCleanup(c, func(int) { freed <- struct{}{} }, 0)
		c.Done()
		_, stop := context.WithTimeout(c, time.Minute)
		stop()
		c.Cancel(nil)
	}
	for got := 0; got < n; {
		runtime.GC()
		select {
		case <-freed:
			got++
		case <-time.After(10 * time.Second):
			t.Fatalf("%d of %d were freed", got, n)
		}
	}
}

func BenchmarkNew(b *testing.B) {
	at := time.Now().Add(time.Hour)
	b.ReportAllocs()
	for b.Loop() {
		c := deadline.New(b.Context(), at, errLimit)
		if c.Err() != nil {
			b.Fatal(c.Err())
		}
		c.Cancel(nil)
	}
}
