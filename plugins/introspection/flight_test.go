package main

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// watched is a context that tells when somebody waits for its end.
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

func TestFlightIsShared(t *testing.T) {
	t.Parallel()
	var f flights[int]
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
			if v, err := f.do(ctx, "k", fn); v != 7 || err != nil {
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
// work ends, and whoever comes then starts it anew.
func TestFlightIsLeft(t *testing.T) {
	t.Parallel()
	var f flights[string]
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
			_, err := f.do(w, "k", wait)
			out <- err
		})
		<-w.waiting
		return cancel, out
	}
	cancel1, out1 := join()
	cancel2, out2 := join()
	cancel1()
	if err := <-out1; !errors.Is(err, context.Canceled) {
		t.Errorf("the first waiter got %v", err)
	}
	select {
	case err := <-ended:
		t.Errorf("the work ended while somebody waited for it: %v", err)
	default:
	}
	cancel2()
	if err := <-out2; !errors.Is(err, context.Canceled) {
		t.Errorf("the second waiter got %v", err)
	}
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("the work ended with %v", err)
	}
	group.Wait()
	if v, err := f.do(t.Context(), "k", func(context.Context) (string, error) { return "new", nil }); v != "new" || err != nil {
		t.Errorf("after all had left: %q, %v", v, err)
	}
}

func TestFlightPanics(t *testing.T) {
	t.Parallel()
	var f flights[int]
	_, err := f.do(t.Context(), "k", func(context.Context) (int, error) { panic("broken") })
	if err == nil || !strings.Contains(err.Error(), "broken") {
		t.Errorf("got %v", err)
	}
}

func TestCancel(t *testing.T) {
	t.Parallel()
	b := fresh(t, map[string]string{
		"go.mod": "module example.com/m\n\ngo 1.26\n",
		"a.go":   "package m\n\nconst V = 1\n",
		"b/b.go": "package b\n\nconst W = 1\n",
	})
	b.symbolOf(t, "V", "")
	// With every slot taken, the call below cannot get further than waiting.
	var free []func()
	for range maxLoads {
		release, err := b.units.slot(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		free = append(free, release)
	}
	ctx, cancel := context.WithCancel(t.Context())
	w, out := watch(ctx), make(chan error, 1)
	go func() {
		_, err := b.call(t, w, "describe_symbol", describeIn{Symbol: "W"})
		out <- err
	}()
	<-w.waiting
	cancel()
	if err := <-out; tool.CodeOf(err) != tool.CodeCanceled {
		t.Errorf("a cancelled call ended with %v", err)
	}
	for _, release := range free {
		release()
	}
	if got := b.symbolOf(t, "W", "").Value; got != "1" {
		t.Errorf("after a cancelled call W is %s", got)
	}
}

func TestCancelled(t *testing.T) {
	t.Parallel()
	b := fresh(t, map[string]string{"go.mod": "module example.com/m\n", "a.go": "package m\n"})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := b.call(t, ctx, "list_package_symbols", listIn{Package: "."}); tool.CodeOf(err) != tool.CodeCanceled {
		t.Errorf("a call cancelled before ended with %v", err)
	}
}

func TestConcurrentCalls(t *testing.T) {
	t.Parallel()
	b := fresh(t, shop)
	var group sync.WaitGroup
	for _, symbol := range []string{"Item", "Item", "Coin.Cents", "a/money.Coin", "Red", "fmt.Println", "Item.Add", "Fine"} {
		group.Go(func() { b.symbolOf(t, symbol, "") })
		group.Go(func() { b.listingOf(t, "goods", true) })
	}
	group.Wait()
}
