// Package deadline makes contexts that end at a time or by hand, and that cost a
// timer only if somebody waits for their end. Start with [New].
//
// A call has a limit that it almost never reaches. The standard library arms a
// timer for each, which wakes a thread; whoever watches many calls at once can
// do better, with one timer for the earliest of their deadlines.
package deadline

import (
	"context"
	"sync"
	"time"
)

// Context ends with its parent, at its deadline, or by [Context.Cancel]. Err,
// Deadline and Value cost no more than a look; Done, which promises to wake
// somebody, costs what the standard library's contexts do.
//
// Where nobody waits, an end happens when somebody looks: of two ends that came
// before the first look, the parent's counts before the deadline's. From then on
// it stays what it was. Cancel looks at the parent, and not at the clock.
type Context struct {
	context.Context //nolint:containedctx // it is one itself

	at   time.Time // zero: the parent's
	over error     // why, when the deadline has passed

	mu     sync.Mutex
	waited context.Context // made when somebody waits
	cancel context.CancelCauseFunc
	err    error // seen by a look; nil: it had not ended
	cause  error // of err
}

// New makes a context that ends at a time; the zero time means whenever its
// parent does. Cause is what [Cause] gives for a deadline that has passed; nil:
// [context.DeadlineExceeded]. Whoever makes one calls Cancel in the end.
func New(parent context.Context, at time.Time, cause error) *Context {
	c := new(Context)
	c.Init(parent, at, cause)
	return c
}

// Init is [New] for a context that is part of something else. It comes before any
// other use, and once.
func (c *Context) Init(parent context.Context, at time.Time, cause error) {
	if cause == nil {
		cause = context.DeadlineExceeded
	}
	if d, ok := parent.Deadline(); ok && !at.IsZero() && d.Before(at) {
		at = time.Time{}
	}
	c.Context, c.at, c.over = parent, at, cause
}

// Cancel ends the context, if it has not ended yet, and gives back what it
// holds. Nil means [context.Canceled].
func (c *Context) Cancel(cause error) {
	if cause == nil {
		cause = context.Canceled
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.waited != nil:
		c.cancel(cause)
	case c.err != nil:
	case c.Context.Err() != nil:
		c.err, c.cause = c.Context.Err(), Cause(c.Context)
	default:
		c.err, c.cause = context.Canceled, cause
	}
}

// Deadline implements [context.Context].
func (c *Context) Deadline() (time.Time, bool) {
	if c.at.IsZero() {
		return c.Context.Deadline()
	}
	return c.at, true
}

// Done implements [context.Context].
func (c *Context) Done() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.waited == nil {
		c.wait()
	}
	return c.waited.Done()
}

// wait makes one of the standard library's contexts in the state of this one. The
// caller holds mu.
func (c *Context) wait() {
	switch c.err {
	case nil:
		c.waited, c.cancel = context.WithCancelCause(c.Context)
		if !c.at.IsZero() {
			end := c.cancel
			timed, stop := context.WithDeadlineCause(c.waited, c.at, c.over)
			c.waited, c.cancel = timed, func(cause error) {
				end(cause)
				stop()
			}
		}
	case context.DeadlineExceeded: //nolint:errorlint // itself, as contexts return it
		// Nothing that happens to the parent changes what has been seen.
		timed, stop := context.WithDeadlineCause(context.WithoutCancel(c.Context), time.Unix(0, 0), c.cause)
		c.waited, c.cancel = timed, func(error) { stop() }
	default:
		c.waited, c.cancel = context.WithCancelCause(context.WithoutCancel(c.Context))
		c.cancel(c.cause)
	}
}

// Err implements [context.Context].
func (c *Context) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.look()
}

// look finds out whether the context has ended, and stays with what it found.
// The caller holds mu.
func (c *Context) look() error {
	if c.waited != nil {
		return c.waited.Err()
	}
	if c.err != nil {
		return c.err
	}
	if err := c.Context.Err(); err != nil {
		c.err, c.cause = err, Cause(c.Context)
	} else if !c.at.IsZero() && time.Until(c.at) <= 0 {
		c.err, c.cause = context.DeadlineExceeded, c.over
	}
	return c.err
}

// contextKey finds the innermost Context.
type contextKey struct{}

// Value implements [context.Context]. Where somebody waits, contexts made of
// this one find the standard library's in it and need no goroutine.
func (c *Context) Value(key any) any {
	if key == (contextKey{}) {
		return c
	}
	c.mu.Lock()
	waited := c.waited
	c.mu.Unlock()
	if waited != nil {
		return waited.Value(key)
	}
	return c.Context.Value(key)
}

// Caller is the context without this one's own deadline, for whoever watches
// that itself.
func (c *Context) Caller() context.Context { return c.Context }

// Cause is why ctx ended; nil: it has not. It knows the causes of this package's
// contexts, also below others, and is [context.Cause] for any other.
func Cause(ctx context.Context) error {
	if ctx.Err() == nil {
		return nil
	}
	c, ok := ctx.Value(contextKey{}).(*Context)
	if !ok {
		return context.Cause(ctx)
	}
	// The standard library's contexts wait for those that they are made of. So if
	// nobody waits for c, none of them is between ctx and c.
	if cause := c.seen(); cause != nil {
		return cause
	}
	return context.Cause(ctx)
}

// seen is why the context ended; nil: it has not, or somebody waits for it, and
// the standard library knows.
func (c *Context) seen() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.waited != nil || c.look() == nil {
		return nil
	}
	return c.cause
}
