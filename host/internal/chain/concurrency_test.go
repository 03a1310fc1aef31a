package chain_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolhost/toolhost/host/internal/chain"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// TestSlotsUnderStress makes calls run, wait and give up concurrently, and
// checks that no more than the limit run at once and that every slot is
// returned.
func TestSlotsUnderStress(t *testing.T) {
	t.Parallel()
	const most, queue = 3, 4
	var running, worst, ran, gaveUp, refused atomic.Int64
	run := chain.Concurrency(chain.NewSlots(most, queue))(func(context.Context, tool.Call) (tool.Result, error) {
		if n := running.Add(1); n > most {
			worst.Store(n)
		}
		defer running.Add(-1)
		ran.Add(1)
		time.Sleep(time.Duration(rand.IntN(20)) * time.Microsecond)
		return tool.Result{}, nil
	})
	var all sync.WaitGroup
	for range 2 * (most + queue) {
		all.Go(func() {
			for range 300 {
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(rand.IntN(100))*time.Microsecond)
				_, err := run(ctx, tool.Call{Name: "x"})
				cancel()
				switch tool.CodeOf(err) {
				case "":
				case tool.CodeResourceExhausted:
					refused.Add(1)
				case tool.CodeDeadlineExceeded:
					gaveUp.Add(1)
				default:
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if worst.Load() > 0 {
		t.Errorf("%d ran at once, want at most %d", worst.Load(), most)
	}
	t.Logf("%d ran, %d gave up, %d were refused", ran.Load(), gaveUp.Load(), refused.Load())
	expectRoom(t, run, most)
}

// expectRoom runs as many calls at once as there are slots, which fails if a
// slot was lost.
func expectRoom(t *testing.T, run tool.Handler, most int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	var all sync.WaitGroup
	for range most {
		all.Go(func() {
			if _, err := run(ctx, tool.Call{Name: "x"}); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
}

// TestSlotsAreFair checks that a free slot goes to the call that has waited
// longest and not to a newcomer, and that a call that gives up takes no other
// call's slot.
func TestSlotsAreFair(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		var order []string
		run := chain.Concurrency(chain.NewSlots(1, 3))(func(_ context.Context, call tool.Call) (tool.Result, error) {
			order = append(order, call.Name)
			<-release
			return tool.Result{}, nil
		})
		impatient, giveUp := context.WithCancelCause(t.Context())
		for _, c := range []struct {
			ctx  context.Context
			name string
		}{{t.Context(), "first"}, {impatient, "impatient"}, {t.Context(), "second"}, {t.Context(), "third"}} {
			go func() {
				_, err := run(c.ctx, tool.Call{Name: c.name})
				if (err != nil) != (c.name == "impatient") {
					t.Errorf("%s: %v", c.name, err)
				}
			}()
			synctest.Wait()
		}
		giveUp(errors.New("enough"))
		synctest.Wait()
		for range 3 {
			release <- struct{}{}
			synctest.Wait()
		}
		if len(order) != 3 || order[0] != "first" || order[1] != "second" || order[2] != "third" {
			t.Errorf("ran %q", order)
		}
	})
}

// Callers share slots and the queue: whoever runs the fewest gets the next slot, and the queue of a caller
// makes room for one that has none. A caller alone may have all.
func TestSlotsAreShared(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		running, refused := map[string]int{}, map[string]int{}
		run := chain.Concurrency(chain.NewSlots(4, 4))(func(ctx context.Context, _ tool.Call) (tool.Result, error) {
			caller := chain.TraceFrom(ctx).Caller.Key
			running[caller]++
			<-release
			running[caller]--
			return tool.Result{}, nil
		})
		begin := func(caller string, calls int) {
			for range calls {
				go func() {
					ctx := chain.WithTrace(t.Context(), &chain.Trace{Caller: &chain.Caller{Key: caller}})
					_, err := run(ctx, tool.Call{Name: "x"})
					if tool.CodeOf(err) == tool.CodeResourceExhausted {
						refused[caller]++
						if !strings.Contains(err.Error(), "of which this caller has 4 and") {
							t.Error(err)
						}
					}
				}()
				synctest.Wait()
			}
		}
		check := func(when string, alice, bob, refusedAlice, refusedBob int) {
			t.Helper()
			synctest.Wait()
			if running["alice"] != alice || running["bob"] != bob || refused["alice"] != refusedAlice || refused["bob"] != refusedBob {
				t.Errorf("%s: %v run, %v were refused", when, running, refused)
			}
		}
		begin("alice", 9)
		check("alone", 4, 0, 1, 0)
		begin("bob", 2)
		check("two of the queue are another's", 4, 0, 3, 0)
		for i := range 2 {
			release <- struct{}{}
			check("a slot is free", 3-i, 1+i, 3, 0)
		}
		begin("bob", 2)
		for range 8 {
			release <- struct{}{}
			synctest.Wait()
		}
		check("the end", 0, 0, 3, 0)
	})
}
