package tooltest

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// waits counts the calls of [WaitTool]. A test whose tools run in another process learns
// from the counts that a handler's context has ended.
type waits struct {
	mu      sync.Mutex
	tallies map[string]tally
	changed chan struct{} // closed and replaced with each change
}

// tally is the result of [WaitedTool].
type tally struct {
	Began int `json:"began"`
	Ended int `json:"ended"`
}

func newWaits() *waits {
	return &waits{tallies: map[string]tally{}, changed: make(chan struct{})}
}

func (w *waits) count(key string, add tally) {
	w.mu.Lock()
	defer w.mu.Unlock()
	t := w.tallies[key]
	w.tallies[key] = tally{Began: t.Began + add.Began, Ended: t.Ended + add.Ended}
	close(w.changed)
	w.changed = make(chan struct{})
}

func (w *waits) look(key string) (tally, <-chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.tallies[key], w.changed
}

func (w *waits) wait(ctx context.Context, c tool.Call) (tool.Result, error) {
	var in struct{ Key string }
	if err := json.Unmarshal(c.Arguments, &in); err != nil {
		return tool.Result{}, err
	}
	w.count(in.Key, tally{Began: 1})
	<-ctx.Done()
	w.count(in.Key, tally{Ended: 1})
	return tool.Result{}, ctx.Err()
}

func (w *waits) waited(ctx context.Context, c tool.Call) (tool.Result, error) {
	var want struct {
		Key string
		tally
	}
	if err := json.Unmarshal(c.Arguments, &want); err != nil {
		return tool.Result{}, err
	}
	enough := time.NewTimer(pollTime)
	defer enough.Stop()
	for {
		have, changed := w.look(want.Key)
		answer := func() (tool.Result, error) {
			b, err := json.Marshal(have)
			r := tool.Text(string(b))
			r.Structured = b
			return r, err
		}
		if have.Began >= want.Began && have.Ended >= want.Ended {
			return answer()
		}
		select {
		case <-changed:
		case <-enough.C:
			return answer()
		case <-ctx.Done():
			return tool.Result{}, ctx.Err()
		}
	}
}
