package schema

import (
	"context"
	"runtime"
)

// LimitError says that a value may fit its schema, but that finding out would
// take more work than this package does for one value.
type LimitError struct{ whole string }

// Error names what was to be judged and what to do.
func (e *LimitError) Error() string {
	return "the " + e.whole + " would take too long to check against the schema"
}

// task is one check on its way. It ends early with its caller's context, and it
// waits for its turn where it is heavy: what a check may cost is bounded, and so
// is how many costly ones run at a time. A nil task does neither.
type task struct {
	ctx  context.Context
	left int   // work until the context is looked at again
	err  error // why the check was given up; nil: it goes on
	held bool  // it has one of the heavy slots
}

// lookEvery is the work between two looks at the context, in evaluations of
// subschemas: about a millisecond.
const lookEvery = 1 << 14

// ended does some work, in evaluations, and reports whether the check is over.
func (t *task) ended(work int) bool {
	if t == nil {
		return false
	}
	if t.left -= work; t.left > 0 || t.err != nil {
		return t.err != nil
	}
	t.left = lookEvery
	return t.look()
}

// look reports whether the check is over, by the context as it is now.
func (t *task) look() bool {
	if t.err == nil {
		t.err = t.ctx.Err()
	}
	return t.err != nil
}

// heavySlots are taken by checks that may take more than some tens of
// milliseconds, of all schemas together. Others never wait.
var heavySlots = make(chan struct{}, max(1, runtime.GOMAXPROCS(0)/2))

// heavy waits for a slot, if the task has none yet, and reports whether it has
// one; false: its context ended first.
func (t *task) heavy() bool {
	if t.held {
		return !t.look()
	}
	select {
	case heavySlots <- struct{}{}:
		t.held = true
	case <-t.ctx.Done():
	}
	return !t.look()
}

// done gives the slot back.
func (t *task) done() {
	if t.held {
		<-heavySlots
		t.held = false
	}
}
