// Package deadline provides contexts that end at a deadline or when they are
// canceled, and that start a timer only when Done is called. Start with [New].
//
// A call almost never reaches its deadline. The standard library arms a timer
// for each context, and each timer wakes a thread. Code that watches many calls
// at once can do better, with a single timer for the earliest deadline.
package deadline

import (
	"context"
	"sync"
	"time"
)

// Context ends with its parent, at its deadline, or by [Context.Cancel]. Err,
// Deadline and Value are cheap; Done costs as much as a context of the standard
// library.
//
// Until Done is called, the context notices that it has ended only when it is
// inspected. If the parent has ended and the deadline has passed by the first
// inspection, the parent's error wins. The outcome of that inspection is final.
// Cancel inspects the parent but not the clock.
type Context struct {
	context.Context //nolint:containedctx // Context implements context.Context

	at            time.Time // zero: the parent's deadline applies
	deadlineCause error     // cause to report once the deadline has passed

	mu     sync.Mutex
	std    context.Context // created by the first call of Done
	cancel context.CancelCauseFunc
	err    error // result of the first inspection that found an end; nil: none yet
	cause  error // cause of err
}

// New returns a context that ends at the given time. The zero time means that
// it ends when its parent does. Cause is what [Cause] returns once the deadline
// has passed; nil means [context.DeadlineExceeded]. The caller must call
// Cancel.
func New(parent context.Context, at time.Time, cause error) *Context {
	c := new(Context)
	c.Init(parent, at, cause)
	return c
}

// Init is [New] for a context embedded in another struct. It must be called
// exactly once, before any other method.
func (c *Context) Init(parent context.Context, at time.Time, cause error) {
	if cause == nil {
		cause = context.DeadlineExceeded
	}
	if d, ok := parent.Deadline(); ok && !at.IsZero() && d.Before(at) {
		at = time.Time{}
	}
	c.Context, c.at, c.deadlineCause = parent, at, cause
}

// Cancel ends the context if it has not ended yet, and releases its resources.
// A nil cause means [context.Canceled].
func (c *Context) Cancel(cause error) {
	if cause == nil {
		cause = context.Canceled
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.std != nil:
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
	if c.std == nil {
		c.makeStd()
	}
	return c.std.Done()
}

// makeStd creates a context of the standard library in the same state as c. The
// caller holds mu.
func (c *Context) makeStd() {
	switch c.err {
	case nil:
		c.std, c.cancel = context.WithCancelCause(c.Context)
		if !c.at.IsZero() {
			end := c.cancel
			timed, stop := context.WithDeadlineCause(c.std, c.at, c.deadlineCause)
			c.std, c.cancel = timed, func(cause error) {
				end(cause)
				stop()
			}
		}
	case context.DeadlineExceeded: //nolint:errorlint // contexts return it unwrapped
		// The observed outcome is final, whatever happens to the parent.
		timed, stop := context.WithDeadlineCause(context.WithoutCancel(c.Context), time.Unix(0, 0), c.cause)
		c.std, c.cancel = timed, func(error) { stop() }
	default:
		c.std, c.cancel = context.WithCancelCause(context.WithoutCancel(c.Context))
		c.cancel(c.cause)
	}
}

// Err implements [context.Context].
func (c *Context) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.check()
}

// check checks whether the context has ended and records the outcome. The caller
// holds mu.
func (c *Context) check() error {
	if c.std != nil {
		return c.std.Err()
	}
	if c.err != nil {
		return c.err
	}
	if err := c.Context.Err(); err != nil {
		c.err, c.cause = err, Cause(c.Context)
	} else if !c.at.IsZero() && time.Until(c.at) <= 0 {
		c.err, c.cause = context.DeadlineExceeded, c.deadlineCause
	}
	return c.err
}

// contextKey is the key under which Value returns the innermost Context.
type contextKey struct{}

// Value implements [context.Context]. Once Done has been called, contexts
// derived from c find the standard library's context through it and need no
// goroutine.
func (c *Context) Value(key any) any {
	if key == (contextKey{}) {
		return c
	}
	c.mu.Lock()
	std := c.std
	c.mu.Unlock()
	if std != nil {
		return std.Value(key)
	}
	return c.Context.Value(key)
}

// Parent returns the parent context, for callers that watch the deadline
// themselves.
func (c *Context) Parent() context.Context { return c.Context }

// Cause returns the reason why ctx ended, or nil if it has not ended. It
// reports the causes of this package's contexts, also if ctx is derived from
// one, and behaves like [context.Cause] for any other.
func Cause(ctx context.Context) error {
	if ctx.Err() == nil {
		return nil
	}
	c, ok := ctx.Value(contextKey{}).(*Context)
	if !ok {
		return context.Cause(ctx)
	}
	// Contexts of the standard library call Done on their parents. If c.Done
	// was never called, none of them is between ctx and c.
	if cause := c.endedCause(); cause != nil {
		return cause
	}
	return context.Cause(ctx)
}

// endedCause returns the reason why the context ended. It returns nil if the context
// has not ended, or if Done was called and [context.Cause] knows the reason.
func (c *Context) endedCause() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.std != nil || c.check() == nil {
		return nil
	}
	return c.cause
}
