package schema

import (
	"context"
	"runtime"
)

// LimitError reports that a value may fit its schema, but that finding out
// would take more work than this package allows for one value.
type LimitError struct{ whole string }

// Error names what was checked and says what to do.
func (e *LimitError) Error() string {
	return "the " + e.whole + " would take too long to check against the schema"
}

// task is one running check. It ends early with the caller's context, and waits
// for a slot if it is heavy: both the cost of a check and the number of
// concurrent heavy checks are limited. A nil task does neither.
type task struct {
	ctx   context.Context
	left  int   // work left until the context is checked again
	err   error // why the check was canceled; nil: it was not
	holds bool  // the task holds one of heavySlots
}

// checkInterval is the work between two checks of the context, in evaluations
// of subschemas: about a millisecond.
const checkInterval = 1 << 14

// ended counts some work, in evaluations, and reports whether the check has
// been canceled.
func (t *task) ended(work int) bool {
	if t == nil {
		return false
	}
	if t.left -= work; t.left > 0 || t.err != nil {
		return t.err != nil
	}
	t.left = checkInterval
	return t.canceled()
}

// canceled reports whether the context has ended.
func (t *task) canceled() bool {
	if t.err == nil {
		t.err = t.ctx.Err()
	}
	return t.err != nil
}

// heavySlots limits the concurrent checks, of all schemas together, that may
// take longer than some tens of milliseconds. Other checks never wait.
var heavySlots = make(chan struct{}, max(1, runtime.GOMAXPROCS(0)/2))

// heavy waits for a slot unless the task already holds one. It reports false if
// the context ended first.
func (t *task) heavy() bool {
	if t.holds {
		return !t.canceled()
	}
	select {
	case heavySlots <- struct{}{}:
		t.holds = true
	case <-t.ctx.Done():
	}
	return !t.canceled()
}

// done releases the slot.
func (t *task) done() {
	if t.holds {
		<-heavySlots
		t.holds = false
	}
}
