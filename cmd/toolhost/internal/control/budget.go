package control

import (
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// What callers may hold of the daemon's memory together, in bytes: arguments of calls
// under way, and answers that are being read. What is small is not counted.
const (
	maxHeldArguments = 128 << 20
	maxHeldAnswers   = 256 << 20
	smallEnough      = 64 << 10
)

// budget bounds what callers hold together.
type budget struct {
	left atomic.Int64
}

func newBudget(bytes int64) *budget {
	b := &budget{}
	b.left.Store(bytes)
	return b
}

// take takes room for n bytes, which the function gives back; false: there is none left.
func (b *budget) take(n int) (giveBack func(), ok bool) {
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
	return &tool.Error{
		Code: tool.CodeResourceExhausted, Message: "the daemon holds too much of other callers: there is no room for " + what, Hint: "try again later",
	}
}

// much is what has to be held for the memory to be returned to the system afterwards, in
// bytes. A daemon that has nothing else to do would collect it only minutes later.
const much = 4 << 20

var returning atomic.Bool

// returnMemory gives what is not in use back to the system, soon, and for all that ask
// within a second at once.
func returnMemory() {
	if returning.CompareAndSwap(false, true) {
		time.AfterFunc(time.Second, func() {
			returning.Store(false)
			debug.FreeOSMemory()
		})
	}
}
