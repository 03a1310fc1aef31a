package tooltest

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/toolhost/toolhost/internal/fixture"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// The checks of calls that end early, and of Close.

func checkCanceled(t *testing.T, p tool.Provider) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	key := rand.Text()
	done := begin(ctx, p, call(fixture.WaitTool, fmt.Sprintf(`{"key":%q}`, key)))
	await(t, p, key, fixture.Tally{Began: 1})
	cancel()
	_, err := within(t, done)
	_ = wantError(t, err, tool.CodeCanceled, "")
	if !errors.Is(err, context.Canceled) {
		t.Errorf("%v is not context.Canceled", err)
	}
	await(t, p, key, fixture.Tally{Began: 1, Ended: 1})
}

func checkCanceledBefore(t *testing.T, p tool.Provider) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := within(t, func() (tool.Result, error) { return p.Execute(ctx, call(fixture.EchoTool, `{}`)) })
	_ = wantError(t, err, tool.CodeCanceled, "")
	if !errors.Is(err, context.Canceled) {
		t.Errorf("%v is not context.Canceled", err)
	}
}

func checkDeadline(t *testing.T, p tool.Provider) {
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, err := within(t, func() (tool.Result, error) {
		return p.Execute(ctx, call(fixture.WaitTool, fmt.Sprintf(`{"key":%q}`, rand.Text())))
	})
	_ = wantError(t, err, tool.CodeDeadlineExceeded, "")
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v is not context.DeadlineExceeded", err)
	}
}

// checkClose accepts a provider that still serves calls after Close: one without resources
// has nothing to release.
func checkClose(t *testing.T, p tool.Provider) {
	if _, err := execute(t, p, fixture.EchoTool, `{}`); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := closeWithin(t, p, ceiling); err != nil {
			t.Errorf("Close: %v", err)
		}
	}
	if n, ok := p.(tool.Notifier); ok {
		_, err := within(t, func() (struct{}, error) {
			for range n.Changes() { // until it is closed
			}
			return struct{}{}, nil
		})
		if err != nil {
			t.Errorf("Close does not close the channel of Changes: %v", err)
		}
	}
	if _, err := within(t, func() ([]tool.Definition, error) { return p.List(t.Context()) }); errors.Is(err, errHangs) {
		t.Errorf("List after Close: %v", err)
	}
	r, err := execute(t, p, fixture.EchoTool, `{"a":1}`)
	var e *tool.Error
	switch {
	case err == nil && !sameJSON(r.Text(), `{"a":1}`):
		t.Errorf("after Close, a call returned neither an error nor its answer: %+v", r)
	case err != nil && !errors.As(err, &e):
		t.Errorf("after Close: %v is not a *tool.Error", err)
	}
}

func checkCloseUnused(t *testing.T, p tool.Provider) {
	if err := closeWithin(t, p, ceiling); err != nil {
		t.Errorf("Close: %v", err)
	}
}

func checkCloseDuringACall(t *testing.T, p tool.Provider) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	key := rand.Text()
	done := begin(ctx, p, call(fixture.WaitTool, fmt.Sprintf(`{"key":%q}`, key)))
	await(t, p, key, fixture.Tally{Began: 1})
	if err := closeWithin(t, p, 100*time.Millisecond); errors.Is(err, errHangs) {
		t.Errorf("Close runs on after its context has ended: %v", err)
	}
	cancel()
	var e *tool.Error
	if _, err := within(t, done); !errors.As(err, &e) {
		t.Errorf("a call that was running during Close ended with %v, want a *tool.Error", err)
	}
}
