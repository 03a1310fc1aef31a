package host_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// stressTime is how long TestEverythingAtOnce runs.
func stressTime() time.Duration {
	if testing.Short() {
		return time.Second
	}
	return 10 * time.Second
}

// Register, replace, list, filter, execute and unregister at once: nothing is
// torn, and a call answers or says that the tool is not there.
func TestEverythingAtOnce(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	stop, cancel := context.WithTimeout(t.Context(), stressTime())
	defer cancel()
	var calls, missing atomic.Int64
	var all sync.WaitGroup
	loop := func(f func(i int)) {
		all.Go(func() {
			for i := 0; stop.Err() == nil; i++ {
				f(i)
			}
		})
	}
	name := func(i int) string { return fmt.Sprintf("tool.%d", i%20) }
	for w := range 3 {
		owner := fmt.Sprint("owner-", w)
		loop(func(i int) {
			if _, err := h.Upsert(owner, echo(name(i))); err != nil && tool.CodeOf(err) != tool.CodeAlreadyExists {
				t.Error(err)
			}
			if i%50 == 49 {
				h.Unregister(owner)
			}
		})
	}
	loop(func(i int) {
		switch err := h.Register(echo(name(i))); tool.CodeOf(err) {
		case "", tool.CodeAlreadyExists:
		default:
			t.Error(err)
		}
		_ = h.Replace(echo(name(i + 1)))
		if i%100 == 99 {
			h.Unregister("")
		}
	})
	for range 3 {
		loop(func(i int) {
			out := h.Call(context.Background(), tool.Call{Name: name(i), Arguments: []byte(`{"text":"x"}`)})
			switch {
			case out.Success && out.Content == name(i)+`:{"text":"x"}`:
				calls.Add(1)
			case out.Error != nil && out.Error.Code == tool.CodeNotFound:
				missing.Add(1)
			default:
				t.Errorf("outcome %+v", out)
			}
		})
	}
	loop(func(int) {
		names := h.Names()
		for i := 1; i < len(names); i++ {
			if names[i-1] >= names[i] {
				t.Errorf("not sorted: %q", names)
			}
		}
		if got := h.Tools(host.Filter{MaxSafety: tool.Safe, Search: "tool"}); len(got) > 20 {
			t.Errorf("%d tools", len(got))
		}
	})
	all.Wait()
	if calls.Load() == 0 {
		t.Errorf("no call answered, %d found no tool", missing.Load())
	}
}
