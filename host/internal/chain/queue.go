package chain

import (
	"context"
	"sync"
	"sync/atomic"
)

// queueLength is the number of events that may wait for slow hooks.
const queueLength = 1024

// Queue passes events to hooks, in order, on a goroutine of its own, so that a sender never
// waits for a hook. Create one with [NewQueue] and call Close at the end.
type Queue[Event any] struct {
	events  chan queued[Event]
	dropped atomic.Uint64
	onPanic func(any)

	mu     sync.RWMutex // orders sends before closed is set
	closed bool
	done   chan struct{}
}

type queued[Event any] struct {
	hook  func(Event)
	event Event
}

// NewQueue starts the goroutine that runs the hooks. It calls onPanic with
// the value of a hook's panic.
func NewQueue[Event any](onPanic func(any)) *Queue[Event] {
	q := &Queue[Event]{
		events: make(chan queued[Event], queueLength), onPanic: onPanic, done: make(chan struct{}),
	}
	go q.run()
	return q
}

func (q *Queue[Event]) run() {
	defer close(q.done)
	for e := range q.events {
		q.tell(e)
	}
}

func (q *Queue[Event]) tell(e queued[Event]) {
	defer func() {
		if v := recover(); v != nil {
			q.onPanic(v)
		}
	}()
	e.hook(e.event)
}

// Send queues an event for a hook. It drops the event if the queue is full, and does nothing
// without a hook or after Close.
func (q *Queue[Event]) Send(hook func(Event), e Event) {
	if hook == nil {
		return
	}
	q.mu.RLock()
	defer q.mu.RUnlock()
	if q.closed {
		return
	}
	select {
	case q.events <- queued[Event]{hook, e}:
	default:
		q.dropped.Add(1)
	}
}

// Dropped returns the number of events dropped because the queue was full.
func (q *Queue[Event]) Dropped() uint64 { return q.dropped.Load() }

// Close lets the hooks process the queued events, until ctx ends.
func (q *Queue[Event]) Close(ctx context.Context) {
	q.mu.Lock()
	if !q.closed {
		q.closed = true
		close(q.events)
	}
	q.mu.Unlock()
	select {
	case <-q.done:
	case <-ctx.Done():
	}
}
