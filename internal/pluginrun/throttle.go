package pluginrun

import (
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"
)

// How much of each of a plugin's pipes is read: a burst at once, such as a long panic
// trace, and then so much a second. A plugin that writes more waits for the host; nothing
// else does.
const (
	readBurst = 1 << 19 // bytes
	readRate  = 1 << 20 // bytes a second
)

// How much of all the plugin's output together is parsed and logged. Lines above that are
// left out of the log and counted; the end of standard error is always kept.
const (
	logBurst = 5_000 // lines
	logRate  = 1_000 // lines a second
)

// outputLimit bounds what one run of a plugin can make the host read, parse and log.
type outputLimit struct {
	log   hclog.Logger
	ended chan struct{} // closed when the process has ended: what it left is read at once

	over atomic.Bool  // whether it wrote too much
	left atomic.Int64 // lines left out of the log

	mu    sync.Mutex
	lines bucket
}

func newOutputLimit(log hclog.Logger) *outputLimit {
	return &outputLimit{log: log, ended: make(chan struct{}), lines: bucket{rate: logRate, burst: logBurst}}
}

// end lifts the limits on reading: what is in the pipes is all there is.
func (l *outputLimit) end() { close(l.ended) }

// hasEnded reports whether the process has ended.
func (l *outputLimit) hasEnded() bool { return isClosed(l.ended) }

// admit reports whether one more line is to be parsed and logged.
func (l *outputLimit) admit() bool {
	l.mu.Lock()
	ok := l.lines.take(1)
	l.mu.Unlock()
	if !ok {
		l.left.Add(1)
		l.warn()
	}
	return ok
}

// refill is called before lines are admitted, once for many of them: asking for the time
// would cost more than dropping a line.
func (l *outputLimit) refill(now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines.refill(now)
}

// warn tells the operator, once a run, that the plugin writes too much.
func (l *outputLimit) warn() {
	if l.over.CompareAndSwap(false, true) {
		l.log.Warn(fmt.Sprintf("the plugin writes more than the host reads: it is slowed down, "+
			"and of its lines more than %d a second are left out of the log", logRate))
	}
}

// String returns what an operator is shown of it; empty: nothing out of the ordinary.
func (l *outputLimit) String() string {
	if left := l.left.Load(); left > 0 {
		return fmt.Sprintf("the plugin writes too much: it is slowed down, and %d lines were left out of the log", left)
	}
	if l.over.Load() {
		return "the plugin writes too much, and is slowed down"
	}
	return ""
}

// throttle bounds the rate at which one output of a plugin is read. It is used by one
// goroutine at a time.
type throttle struct {
	limit *outputLimit
	bytes bucket
}

func (l *outputLimit) throttle() *throttle {
	return &throttle{limit: l, bytes: bucket{rate: readRate, burst: readBurst}}
}

// shortest is the shortest wait: many small ones would wake a processor each time.
const shortest = 2 * time.Millisecond

// pass waits until n more bytes may have come. It returns at once when the process has
// ended.
func (t *throttle) pass(n int) {
	now := time.Now()
	t.limit.refill(now)
	t.bytes.refill(now)
	wait := t.bytes.charge(float64(n))
	if wait <= 0 || t.limit.hasEnded() {
		return
	}
	t.limit.warn()
	if wait < shortest { // it is still owed
		return
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-t.limit.ended:
	}
}

// slowReader reads at the rate of a throttle.
type slowReader struct {
	r        io.Reader
	throttle *throttle
}

func (s slowReader) Read(b []byte) (int, error) {
	n, err := s.r.Read(b)
	s.throttle.pass(n)
	return n, err
}

// bucket holds tokens: a burst to begin with, refilled at a rate. A rate.Limiter asks for
// the time and locks for each token, and reserves no more than a burst at a time.
type bucket struct {
	rate, burst float64
	spent       float64 // of the burst
	at          time.Time
}

func (b *bucket) refill(now time.Time) {
	if !b.at.IsZero() {
		b.spent = max(0, b.spent-now.Sub(b.at).Seconds()*b.rate)
	}
	b.at = now
}

// take takes n tokens, if there are as many.
func (b *bucket) take(n float64) bool {
	if b.spent+n > b.burst {
		return false
	}
	b.spent += n
	return true
}

// charge takes n tokens, whether they are there or not, and returns how long it takes until
// they are.
func (b *bucket) charge(n float64) time.Duration {
	b.spent += n
	return time.Duration(max(0, b.spent-b.burst) / b.rate * float64(time.Second))
}
