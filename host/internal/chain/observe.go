package chain

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// eventQueue is the number of events that may wait for slow hooks.
const eventQueue = 1024

// Observer runs hooks. Create one with [NewObserver] and call Close at the end.
type Observer struct {
	hooks   policy.Hooks
	events  chan observed
	dropped atomic.Uint64
	onPanic func(any)

	mu     sync.RWMutex // orders sends before closed is set
	closed bool
	done   chan struct{}
}

type observed struct {
	hook  func(policy.Event)
	event policy.Event
}

// NewObserver starts the goroutine that runs the hooks. It calls onPanic with
// the value of a hook's panic.
func NewObserver(hooks policy.Hooks, onPanic func(any)) *Observer {
	o := &Observer{hooks: hooks, events: make(chan observed, eventQueue), onPanic: onPanic, done: make(chan struct{})}
	go o.run()
	return o
}

func (o *Observer) run() {
	defer close(o.done)
	for e := range o.events {
		o.tell(e)
	}
}

func (o *Observer) tell(e observed) {
	defer func() {
		if v := recover(); v != nil {
			o.onPanic(v)
		}
	}()
	e.hook(e.event)
}

// Dropped returns the number of events dropped because the queue was full.
func (o *Observer) Dropped() uint64 { return o.dropped.Load() }

// Close lets the hooks process the queued events, until ctx ends.
func (o *Observer) Close(ctx context.Context) {
	o.mu.Lock()
	if !o.closed {
		o.closed = true
		close(o.events)
	}
	o.mu.Unlock()
	select {
	case <-o.done:
	case <-ctx.Done():
	}
}

func (o *Observer) send(hook func(policy.Event), e policy.Event) {
	if hook == nil {
		return
	}
	o.mu.RLock()
	defer o.mu.RUnlock()
	if o.closed {
		return
	}
	select {
	case o.events <- observed{hook, e}:
	default:
		o.dropped.Add(1)
	}
}

// Observe reports each call to an observer. A nil observer skips the step.
func Observe(o *Observer) Middleware {
	if o == nil {
		return nil
	}
	return func(next tool.Handler) tool.Handler {
		return func(ctx context.Context, call tool.Call) (tool.Result, error) {
			t := traceOf(ctx)
			e := policy.Event{Time: t.Begin, Call: call, Caller: t.caller().Name(), Session: t.caller().ID()}
			o.send(o.hooks.Before, e)
			res, err := next(ctx, call)
			e.Duration, e.Result, e.Err = time.Since(e.Time), res, err
			e.Plugin, e.Attempts = t.Plugin, t.Attempts
			if err != nil {
				o.send(o.hooks.Error, e)
			} else {
				o.send(o.hooks.After, e)
			}
			return res, err
		}
	}
}
