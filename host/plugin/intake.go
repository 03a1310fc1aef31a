package plugin

import (
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"
)

// What is read of a plugin's output, of each of its pipes: a burst at once, such
// as a long panic trace, and then so much a second. A plugin that writes more waits
// for the host, and nobody else does.
const (
	intakeBurst = 1 << 19 // bytes
	intakeRate  = 1 << 20 // bytes a second
)

// What is parsed and logged of it, of all its outputs together. Lines above that
// are left out of the log and counted; the end of standard error is kept in any
// case.
const (
	logBurst = 5_000 // lines
	logRate  = 1_000 // lines a second
)

// intake bounds what one run of a plugin can make the host read, parse and log.
type intake struct {
	log   hclog.Logger
	ended chan struct{} // closed when the process has ended: what it left is read at once

	over atomic.Bool  // whether it wrote too much
	left atomic.Int64 // lines left out of the log

	mu    sync.Mutex
	lines bucket
}

func newIntake(log hclog.Logger) *intake {
	return &intake{log: log, ended: make(chan struct{}), lines: bucket{rate: logRate, burst: logBurst}}
}

// end lifts the limits on reading: what is in the pipes is all there is.
func (in *intake) end() { close(in.ended) }

// isOver reports whether the process has ended.
func (in *intake) isOver() bool {
	select {
	case <-in.ended:
		return true
	default:
		return false
	}
}

// admit reports whether one more line is to be parsed and logged.
func (in *intake) admit() bool {
	in.mu.Lock()
	ok := in.lines.take(1)
	in.mu.Unlock()
	if !ok {
		in.left.Add(1)
		in.noteOver()
	}
	return ok
}

// refill is called before lines are taken, once for many of them: asking for the
// time would cost more than dropping a line.
func (in *intake) refill(now time.Time) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.lines.refill(now)
}

// noteOver tells the operator, once a run.
func (in *intake) noteOver() {
	if in.over.CompareAndSwap(false, true) {
		in.log.Warn(fmt.Sprintf("the plugin writes more than %d KiB or %d lines a second: it is slowed down, "+
			"and lines above that are left out of the log", intakeRate>>10, logRate))
	}
}

// String is what an operator is shown of it; empty: nothing out of the ordinary.
func (in *intake) String() string {
	if left := in.left.Load(); left > 0 {
		return fmt.Sprintf("it writes too much: it is slowed down, and %d lines were left out of the log", left)
	}
	if in.over.Load() {
		return "it writes too much, and is slowed down"
	}
	return ""
}

// valve lets one output of a plugin through at the rate of an intake. It is used
// by one goroutine at a time.
type valve struct {
	in    *intake
	bytes bucket
}

func (in *intake) valve() *valve {
	return &valve{in: in, bytes: bucket{rate: intakeRate, burst: intakeBurst}}
}

// shortest is the shortest wait: many small ones would wake a processor each time.
const shortest = 2 * time.Millisecond

// pass waits until n more bytes may have come. It returns at once when the process
// has ended.
func (v *valve) pass(n int) {
	now := time.Now()
	v.in.refill(now)
	v.bytes.refill(now)
	wait := v.bytes.charge(float64(n))
	if wait <= 0 || v.in.isOver() {
		return
	}
	v.in.noteOver()
	if wait < shortest { // it is still owed
		return
	}
	t := time.NewTimer(wait)
	defer t.Stop()
	select {
	case <-t.C:
	case <-v.in.ended:
	}
}

// slowReader reads through a valve.
type slowReader struct {
	r     io.Reader
	valve *valve
}

func (s slowReader) Read(b []byte) (int, error) {
	n, err := s.r.Read(b)
	s.valve.pass(n)
	return n, err
}

// bucket holds tokens: a burst to begin with, refilled at a rate.
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

// charge takes n tokens whether they are there or not, and returns how long it
// takes until they are.
func (b *bucket) charge(n float64) time.Duration {
	b.spent += n
	return time.Duration(max(0, b.spent-b.burst) / b.rate * float64(time.Second))
}
