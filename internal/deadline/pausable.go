package deadline

import (
	"cmp"
	"context"
	"sync"
	"time"
)

// Pausable is a context that ends with its parent, at a deadline that can be moved, or by
// Cancel. It costs more than a [Context], and is for calls that may wait for a person.
type Pausable struct {
	parent context.Context
	inner  context.Context // has the parent's values, and the cause; ends just after Done
	cancel context.CancelCauseFunc
	done   chan struct{}
	cause  error // of the deadline
	latest time.Time
	late   error // the cause if it ends at latest

	mu      sync.Mutex
	at      time.Time // zero: none
	timer   *time.Timer
	pauses  int       // that have not ended
	since   time.Time // when the first of them began
	err     error
	release func() bool
}

// NewPausable returns a context like that of [New]. However long it is paused, it ends at
// latest, which is not before at, with the cause late; the zero time means that there is no such
// bound. The caller must call Cancel.
func NewPausable(parent context.Context, at time.Time, cause error, latest time.Time, late error) *Pausable {
	if at.IsZero() {
		at = latest
	}
	p := &Pausable{
		parent: parent, done: make(chan struct{}), at: at, latest: latest,
		cause: cmp.Or(cause, context.DeadlineExceeded), late: cmp.Or(late, context.DeadlineExceeded),
	}
	p.inner, p.cancel = context.WithCancelCause(context.WithoutCancel(parent))
	p.mu.Lock()
	defer p.mu.Unlock()
	p.release = context.AfterFunc(parent, p.follow)
	if !at.IsZero() {
		p.timer = time.AfterFunc(time.Until(at), p.onTimer)
	}
	return p
}

// onTimer ends the context, unless it is paused or its deadline has moved.
func (p *Pausable) onTimer() {
	p.mu.Lock()
	now, at, cause := time.Now(), p.at, p.cause
	if p.pauses > 0 {
		at = p.latest
	}
	if at.Equal(p.latest) {
		cause = p.late
	}
	early := at.IsZero() || now.Before(at)
	if early && !at.IsZero() && p.err == nil {
		p.timer.Reset(at.Sub(now))
	}
	p.mu.Unlock()
	if !early {
		p.end(context.DeadlineExceeded, cause)
	}
}

// follow ends the context as its parent did.
func (p *Pausable) follow() { p.end(p.parent.Err(), Cause(p.parent)) }

func (p *Pausable) end(err, cause error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.err != nil {
		return
	}
	p.err = err
	if p.timer != nil {
		p.timer.Stop()
	}
	close(p.done)
	p.cancel(cause)
}

// Pause makes the deadline stand still until resume is called, which may be called more than
// once. Pauses may overlap.
func (p *Pausable) Pause() (resume func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.pauses++; p.pauses == 1 {
		p.since = time.Now()
		p.reset(p.latest)
	}
	return sync.OnceFunc(p.resume)
}

func (p *Pausable) resume() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.pauses--; p.pauses > 0 || p.at.IsZero() {
		return
	}
	if p.at = p.at.Add(time.Since(p.since)); !p.latest.IsZero() && p.at.After(p.latest) {
		p.at = p.latest
	}
	p.reset(p.at)
}

// reset sets the timer. The caller holds mu.
func (p *Pausable) reset(at time.Time) {
	switch {
	case p.timer == nil || p.err != nil:
	case at.IsZero():
		p.timer.Stop()
	default:
		p.timer.Reset(time.Until(at))
	}
}

// Cancel ends the context if it has not ended yet. A nil cause means [context.Canceled].
func (p *Pausable) Cancel(cause error) {
	p.release()
	if cause == nil {
		cause = context.Canceled
	}
	p.end(context.Canceled, cause)
}

// Deadline implements [context.Context]. It returns a later time after a pause.
func (p *Pausable) Deadline() (time.Time, bool) {
	outer, ok := p.parent.Deadline()
	p.mu.Lock()
	defer p.mu.Unlock()
	at := p.at
	if p.pauses > 0 {
		at = p.latest
	}
	if at.IsZero() || ok && outer.Before(at) {
		return outer, ok
	}
	return at, true
}

// Done implements [context.Context].
func (p *Pausable) Done() <-chan struct{} { return p.done }

// Err implements [context.Context].
func (p *Pausable) Err() error {
	if p.parent.Err() != nil {
		p.follow()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.err
}

// Value implements [context.Context]. It leads to the inner context, which has the cause.
func (p *Pausable) Value(key any) any { return p.inner.Value(key) }

// AfterFunc is what package context looks for, so that contexts derived from this one need no
// goroutine.
func (p *Pausable) AfterFunc(f func()) (stop func() bool) { return context.AfterFunc(p.inner, f) }
