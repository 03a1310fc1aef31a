package fleet_test

import (
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// load is what became of many calls of the tools of processes, in turn of one that may be repeated and of
// one that must not.
type load struct {
	calls   int64
	lost    atomic.Int64 // calls that must not be repeated, and whose outcome is not known
	refused atomic.Int64 // such calls that never left
	slowest atomic.Int64 // nanoseconds of a call
	ended   []atomic.Int32
}

const maxLoad = 1 << 20

// load calls from as many callers at a time, while more says so of the number of the next call. Calls of
// the first kind that fail are errors of the test.
func (n *node) load(t testing.TB, callers int, more func(int64) bool) *load {
	t.Helper()
	l := &load{ended: make([]atomic.Int32, maxLoad)}
	var next atomic.Int64
	var all sync.WaitGroup
	for range callers {
		all.Go(func() {
			for {
				i := next.Add(1)
				if i >= maxLoad || !more(i) || t.Context().Err() != nil {
					return
				}
				begin := time.Now()
				name := []string{"work.again", "work.once"}[i%2]
				_, err := n.Execute(t.Context(), tool.Call{ID: strconv.FormatInt(i, 10), Name: name})
				l.ended[i].Add(1)
				for took := int64(time.Since(begin)); ; {
					if old := l.slowest.Load(); took <= old || l.slowest.CompareAndSwap(old, took) {
						break
					}
				}
				switch {
				case err == nil:
				case name == "work.once" && tool.CodeOf(err) == tool.CodeUnavailable && tool.AsError(err).Unsent:
					l.refused.Add(1)
				case name == "work.once" && tool.CodeOf(err) == tool.CodeUnavailable:
					l.lost.Add(1)
				default:
					t.Errorf("call %d of %s: %v", i, name, err)
				}
			}
		})
	}
	all.Wait()
	for l.calls+1 < maxLoad && l.ended[l.calls+1].Load() > 0 {
		l.calls++
	}
	return l
}

// check compares the calls with the ledgers of the processes: those of the first kind ran, none of the
// others ran twice. A call has promised to end within 4 s.
func (l *load) check(t testing.TB, all ...*process) {
	t.Helper()
	ledger := map[string]int{}
	for _, p := range all {
		p.entries(t, ledger)
	}
	for i := int64(1); i <= l.calls; i++ {
		n := ledger[strconv.FormatInt(i, 10)]
		if i%2 == 1 && n > 1 || i%2 == 0 && (n < 1 || n > 2) {
			t.Errorf("call %d ran %d times", i, n)
		}
	}
	slowest := time.Duration(l.slowest.Load())
	if slowest > 20*4*time.Second {
		t.Errorf("a call took %v", slowest)
	}
	t.Logf("%d calls, of those that must not be repeated %d ended with an unknown outcome and %d never left, the slowest took %v",
		l.calls, l.lost.Load(), l.refused.Load(), slowest)
}

// underLoad begins to make calls, and returns after some. Ended ends that.
func (n *node) underLoad(t testing.TB, callers int, after int64) (ended func() *load) {
	begun, over, done := make(chan struct{}), make(chan struct{}), make(chan *load)
	go func() {
		done <- n.load(t, callers, func(i int64) bool {
			if i == after {
				close(begun)
			}
			select {
			case <-over:
				return false
			default:
				return true
			}
		})
	}()
	<-begun
	return func() *load {
		close(over)
		return <-done
	}
}
