package control

import (
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/toolhost/toolhost/internal/share"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// How much of the daemon's memory callers may hold, in bytes: arguments of calls in progress, and
// answers that are being read. Small amounts are not counted.
const (
	maxHeldArguments = 128 << 20
	maxHeldAnswers   = 256 << 20
	smallEnough      = 64 << 10
)

// reserve reserves room for n bytes of a caller until release is called.
//
// # Errors
//
// [tool.CodeResourceExhausted] if the caller has its share, or there is no room left.
func reserve(of *share.Pool, by Caller, n int, what string) (release func(), err error) {
	if n <= smallEnough {
		return func() {}, nil
	}
	if own, others, ok := of.Take(by.Name, n); !ok {
		return func() {}, tool.Errorf(tool.CodeResourceExhausted,
			"there is no room for %s of %d bytes: the daemon holds %d bytes for this caller and %d for others, of %d",
			what, n, own, others, of.Most()).Try("try again later")
	}
	return sync.OnceFunc(func() { of.Give(by.Name, n) }), nil
}

// Hold reserves memory for an answer that a caller gets in another way, of the same as for those on the
// socket.
func (s *Server) Hold(caller string, bytes int) (release func(), err error) {
	give, err := reserve(s.answers, Caller{Name: caller}, bytes, "an answer")
	if bytes <= largeAnswer {
		return give, err
	}
	returnMemory() // of what it was made from
	return func() { give(); returnMemory() }, err
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
