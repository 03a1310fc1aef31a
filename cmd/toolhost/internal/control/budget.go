package control

import (
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// How much of the daemon's memory all callers together may hold, in bytes: arguments of calls
// in progress, and answers that are being read. Small amounts are not counted.
const (
	maxHeldArguments = 128 << 20
	maxHeldAnswers   = 256 << 20
	smallEnough      = 64 << 10
)

// budget bounds what all callers hold together.
type budget struct {
	left atomic.Int64
}

func newBudget(bytes int64) *budget {
	b := &budget{}
	b.left.Store(bytes)
	return b
}

// reserve reserves room for n bytes until release is called; false: there is none left.
func (b *budget) reserve(n int) (release func(), ok bool) {
	if n <= smallEnough {
		return func() {}, true
	}
	if b.left.Add(-int64(n)) < 0 {
		b.left.Add(int64(n))
		return nil, false
	}
	return sync.OnceFunc(func() { b.left.Add(int64(n)) }), true
}

func errHeld(what string) error {
	return tool.Errorf(tool.CodeResourceExhausted,
		"the daemon holds too much for other callers: there is no room for %s", what).Try("try again later")
}

// largeAnswer is the size from which an answer's memory is returned to the system afterwards,
// in bytes. An idle daemon would collect it only minutes later.
const largeAnswer = 4 << 20

var returning atomic.Bool

// returnMemory returns unused memory to the system within a second, once for all who ask in
// that time.
func returnMemory() {
	if returning.CompareAndSwap(false, true) {
		time.AfterFunc(time.Second, func() {
			returning.Store(false)
			debug.FreeOSMemory()
		})
	}
}
