package deadline_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolhost/toolhost/internal/deadline"
	"github.com/toolhost/toolhost/internal/test/assert"
)

var (
	errAttempt = errors.New("the limit of an attempt")
	errLate    = errors.New("late")
)

// endsWith checks what a context and one derived from it end with, and when.
func endsWith(t *testing.T, start time.Time, ctx context.Context, at time.Duration, err, cause error) {
	t.Helper()
	type key struct{}
	derived, cancel := context.WithCancel(context.WithValue(ctx, key{}, 1))
	defer cancel()
	<-ctx.Done()
	<-derived.Done()
	assert.Equalf(t, time.Since(start), at, "it ended after")
	for what, c := range map[string]context.Context{"the context": ctx, "a derived one": derived} {
		if c.Err() != err || !errors.Is(deadline.Cause(c), cause) { //nolint:errorlint // contexts return them as they are
			t.Errorf("%s ended with %v because of %v, want %v because of %v", what, c.Err(), deadline.Cause(c), err, cause)
		}
	}
}

func TestPausable(t *testing.T) {
	t.Parallel()
	const s = time.Second
	for name, c := range map[string]struct {
		run        func(p *deadline.Pausable, cancelParent context.CancelCauseFunc)
		latest     time.Duration
		at         time.Duration
		err, cause error
	}{
		"no pause": {func(*deadline.Pausable, context.CancelCauseFunc) {}, 0, 10 * s, context.DeadlineExceeded, errAttempt},
		"paused": {func(p *deadline.Pausable, _ context.CancelCauseFunc) {
			<-time.After(9 * s)
			resume := p.Pause()
			<-time.After(60 * s)
			resume()
			resume()
		}, 0, 70 * s, context.DeadlineExceeded, errAttempt},
		"pauses overlap": {func(p *deadline.Pausable, _ context.CancelCauseFunc) {
			a := p.Pause()
			<-time.After(5 * s)
			b := p.Pause()
			<-time.After(5 * s)
			a()
			<-time.After(5 * s)
			b()
		}, 0, 25 * s, context.DeadlineExceeded, errAttempt},
		"paused too long": {func(p *deadline.Pausable, _ context.CancelCauseFunc) { p.Pause() }, 30 * s, 30 * s, context.DeadlineExceeded, errLate},
		"resumed late": {func(p *deadline.Pausable, _ context.CancelCauseFunc) {
			resume := p.Pause()
			<-time.After(25 * s)
			resume()
		}, 30 * s, 30 * s, context.DeadlineExceeded, errLate},
		"canceled": {func(p *deadline.Pausable, _ context.CancelCauseFunc) {
			p.Pause()
			<-time.After(s)
			p.Cancel(errAttempt)
		}, 0, s, context.Canceled, errAttempt},
		"with its parent": {func(p *deadline.Pausable, cancel context.CancelCauseFunc) {
			p.Pause()
			<-time.After(s)
			cancel(errLate)
			if p.Err() == nil {
				t.Error("the parent has ended, and it has not")
			}
		}, 0, s, context.Canceled, errLate},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				parent, cancel := context.WithCancelCause(t.Context())
				defer cancel(nil)
				start, latest := time.Now(), time.Time{}
				if c.latest > 0 {
					latest = start.Add(c.latest)
				}
				p := deadline.NewPausable(parent, start.Add(10*s), errAttempt, latest, errLate)
				defer p.Cancel(nil)
				go c.run(p, cancel)
				endsWith(t, start, p, c.at, c.err, c.cause)
			})
		})
	}
}

func TestPausableDeadline(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		outer := time.Now().Add(time.Hour)
		parent, cancel := context.WithDeadline(t.Context(), outer)
		defer cancel()
		at := time.Now().Add(time.Minute)
		p := deadline.NewPausable(parent, at, nil, time.Time{}, nil)
		defer p.Cancel(nil)
		is := func(want time.Time) {
			t.Helper()
			if got, ok := p.Deadline(); !ok || !got.Equal(want) {
				t.Errorf("the deadline is %v, %v; want %v", got, ok, want)
			}
		}
		is(at)
		resume := p.Pause()
		is(outer)
		<-time.After(time.Second)
		resume()
		is(at.Add(time.Second))
	})
}

// A context whose end is not waited for has ended all the same when it is inspected, and then knows the cause.
func TestPausableInspected(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		parent, cancel := context.WithCancelCause(t.Context())
		begin := func() *deadline.Pausable {
			return deadline.NewPausable(parent, time.Now().Add(time.Minute), errAttempt, time.Time{}, nil)
		}
		ended := func(p *deadline.Pausable, err, cause error) {
			t.Helper()
			if p.Err() != err || deadline.Cause(p) != cause || context.Cause(p) != cause { //nolint:errorlint // they are as they are
				t.Errorf("it has ended with %v because of %v", p.Err(), deadline.Cause(p))
			}
			if err != nil {
				<-p.Done()
			}
		}
		timed, paused, canceled, orphan := begin(), begin(), begin(), begin()
		resume := paused.Pause()
		canceled.Cancel(errLate)
		time.Sleep(time.Hour)
		ended(timed, context.DeadlineExceeded, errAttempt)
		ended(paused, nil, nil)
		ended(canceled, context.Canceled, errLate)
		resume()
		paused.Done() // from here on it ends by itself
		time.Sleep(2 * time.Minute)
		ended(paused, context.DeadlineExceeded, errAttempt)
		cancel(errLate)
		orphan.Cancel(nil)
		ended(orphan, context.Canceled, errLate)
	})
}
