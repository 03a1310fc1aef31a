package singleflight

import (
	"context"
	"sync"
	"testing"

	"github.com/toolhost/toolhost/internal/test/assert"
)

// watched is a context that tells when a goroutine waits for its end.
type watched struct {
	context.Context
	once    *sync.Once
	waiting chan struct{}
}

func watch(ctx context.Context) watched {
	return watched{ctx, &sync.Once{}, make(chan struct{})}
}

func (w watched) Done() <-chan struct{} {
	w.once.Do(func() { close(w.waiting) })
	return w.Context.Done()
}

func TestShared(t *testing.T) {
	t.Parallel()
	var f Group[int]
	runs, land := 0, make(chan struct{})
	fn := func(context.Context) (int, error) {
		runs++
		<-land
		return 7, nil
	}
	var group sync.WaitGroup
	for range 5 {
		ctx := watch(t.Context())
		group.Go(func() {
			if v, err := f.Do(ctx, "k", fn); v != 7 || err != nil {
				t.Errorf("got %d, %v", v, err)
			}
		})
		<-ctx.waiting
	}
	close(land)
	group.Wait()
	if runs != 1 {
		t.Errorf("the work was done %d times", runs)
	}
}

// A waiter that gives up leaves the others alone; when the last one does, the
// work ends, and the next call starts it again.
func TestLeft(t *testing.T) {
	t.Parallel()
	var f Group[string]
	ended := make(chan error, 1)
	wait := func(ctx context.Context) (string, error) {
		<-ctx.Done()
		ended <- ctx.Err()
		return "", ctx.Err()
	}
	var group sync.WaitGroup
	join := func() (context.CancelFunc, <-chan error) {
		ctx, cancel := context.WithCancel(t.Context())
		w, out := watch(ctx), make(chan error, 1)
		group.Go(func() {
			_, err := f.Do(w, "k", wait)
			out <- err
		})
		<-w.waiting
		return cancel, out
	}
	cancel1, out1 := join()
	cancel2, out2 := join()
	cancel1()
	assert.ErrorIsf(t, <-out1, context.Canceled, "the first waiter got")
	select {
	case err := <-ended:
		t.Errorf("the work ended while a call waited for it: %v", err)
	default:
	}
	cancel2()
	assert.ErrorIsf(t, <-out2, context.Canceled, "the second waiter got")
	assert.ErrorIsf(t, <-ended, context.Canceled, "the work ended with")
	group.Wait()
	if v, err := f.Do(t.Context(), "k", func(context.Context) (string, error) { return "new", nil }); v != "new" || err != nil {
		t.Errorf("after all had left: %q, %v", v, err)
	}
}

func TestPanic(t *testing.T) {
	t.Parallel()
	var f Group[int]
	_, err := f.Do(t.Context(), "k", func(context.Context) (int, error) { panic("broken") })
	assert.ErrorContains(t, err, "broken")
}
