package deadline

import (
	"cmp"
	"context"
	"sync"
	"time"
)

// Pausable is a context that ends with its parent, at a deadline that can be moved, or by
// Cancel. It is for calls that may wait for a person. Like a [Context], it costs little until
// someone waits for its end, and notices that only when it is inspected.
type Pausable struct {
	parent context.Context
	values context.Context // the parent's
	cause  error           // of the deadline
	latest time.Time
	late   error // the cause if it ends at latest

	mu     sync.Mutex
	at     time.Time // zero: none
	pauses int       // that have not ended
	since  time.Time // when the first of them began
	err    error
	why    error // the cause of err

	// What ends by itself; nil: its end is not waited for.
	inner   context.Context // has the parent's values, and the cause; ends just after Done
	cancel  context.CancelCauseFunc
	done    chan struct{}
	timer   *time.Timer
	release func() bool
}

// NewPausable returns a context like that of [New]. However long it is paused, it ends at
// latest, which is not before at, with the cause late; the zero time means that there is no such
// bound. The caller must call Cancel.
func NewPausable(parent context.Context, at time.Time, cause error, latest time.Time, late error) *Pausable {
	if at.IsZero() {
		at = latest
	}
	return &Pausable{
		parent: parent, values: context.WithoutCancel(parent), at: at, latest: latest,
		cause: cmp.Or(cause, context.DeadlineExceeded), late: cmp.Or(late, context.DeadlineExceeded),
	}
}

// begin has the context end by itself. The caller holds mu.
func (p *Pausable) begin() {
	if p.inner != nil {
		return
	}
	p.inner, p.cancel = context.WithCancelCause(p.values)
	p.done = make(chan struct{})
	if p.err != nil {
		close(p.done)
		p.cancel(p.why)
		return
	}
	p.release = context.AfterFunc(p.parent, p.follow)
	if !p.at.IsZero() {
		p.timer = time.AfterFunc(time.Until(p.at), p.onTimer)
		if p.pauses > 0 {
			p.reset(p.latest)
		}
	}
}

// due returns when the context ends unless its deadline is moved, and with what cause. The
// caller holds mu.
func (p *Pausable) due() (at time.Time, cause error) {
	at, cause = p.at, p.cause
	if p.pauses > 0 {
		at = p.latest
	}
	if at.Equal(p.latest) {
		cause = p.late
	}
	return at, cause
}

// check ends the context if its time is over. The caller holds mu.
func (p *Pausable) check() {
	if at, cause := p.due(); !at.IsZero() && !time.Now().Before(at) {
		p.end(context.DeadlineExceeded, cause)
	}
}

// onTimer ends the context, unless it is paused or its deadline has moved.
func (p *Pausable) onTimer() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.check()
	if at, _ := p.due(); p.err == nil && !at.IsZero() {
		p.timer.Reset(time.Until(at))
	}
}

// follow ends the context as its parent did.
func (p *Pausable) follow() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.end(p.parent.Err(), Cause(p.parent))
}

// end ends the context if it has not ended yet. The caller holds mu.
func (p *Pausable) end(err, cause error) {
	if p.err != nil {
		return
	}
	p.err, p.why = err, cause
	if p.inner == nil {
		return
	}
	p.release()
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

// Cancel ends the context if neither it nor its parent has ended yet. A nil cause means [context.Canceled].
func (p *Pausable) Cancel(cause error) {
	if p.parent.Err() != nil {
		p.follow()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.end(context.Canceled, cmp.Or(cause, context.Canceled))
}

// Deadline implements [context.Context]. It returns a later time after a pause.
func (p *Pausable) Deadline() (time.Time, bool) {
	outer, ok := p.parent.Deadline()
	p.mu.Lock()
	defer p.mu.Unlock()
	at, _ := p.due()
	if at.IsZero() || ok && outer.Before(at) {
		return outer, ok
	}
	return at, true
}

// Done implements [context.Context].
func (p *Pausable) Done() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.begin()
	return p.done
}

// Err implements [context.Context].
func (p *Pausable) Err() error {
	if p.parent.Err() != nil {
		p.follow()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.inner == nil && p.err == nil {
		p.check()
	}
	return p.err
}

// Value implements [context.Context]. Once it has ended, or someone waits for that, it leads to the
// inner context, which has the cause.
func (p *Pausable) Value(key any) any {
	p.mu.Lock()
	if p.err != nil {
		p.begin()
	}
	inner := p.inner
	p.mu.Unlock()
	return cmp.Or(inner, p.values).Value(key)
}

// AfterFunc is what package context looks for, so that contexts derived from this one need no
// goroutine.
func (p *Pausable) AfterFunc(f func()) (stop func() bool) {
	p.Done()
	return context.AfterFunc(p.inner, f)
}
