package main

import (
	"context"
	"fmt"
	"sync"
)

// flights lets calls that want the same thing at the same time share the work.
// A call that gives up leaves; the work stops when the last has left.
type flights[T any] struct {
	mu      sync.Mutex
	running map[string]*flight[T]
}

type flight[T any] struct {
	done    chan struct{}
	cancel  context.CancelFunc
	waiters int
	value   T
	err     error
}

// do is fn's answer for key, whether this call or an earlier one started fn.
func (f *flights[T]) do(ctx context.Context, key string, fn func(context.Context) (T, error)) (T, error) {
	run := f.join(key, fn)
	select {
	case <-run.done:
		return run.value, run.err
	case <-ctx.Done():
		f.leave(key, run)
		var zero T
		return zero, ctx.Err()
	}
}

func (f *flights[T]) join(key string, fn func(context.Context) (T, error)) *flight[T] {
	f.mu.Lock()
	defer f.mu.Unlock()
	if run := f.running[key]; run != nil {
		run.waiters++
		return run
	}
	// The work belongs to all who wait for it, so no single call's context
	// may end it.
	ctx, cancel := context.WithCancel(context.Background())
	run := &flight[T]{done: make(chan struct{}), cancel: cancel, waiters: 1}
	if f.running == nil {
		f.running = map[string]*flight[T]{}
	}
	f.running[key] = run
	go f.fly(ctx, key, run, fn)
	return run
}

func (f *flights[T]) fly(ctx context.Context, key string, run *flight[T], fn func(context.Context) (T, error)) {
	defer func() {
		// The type checker on broken code is not worth the process.
		if v := recover(); v != nil {
			run.err = fmt.Errorf("panic while loading: %v", v)
		}
		run.cancel()
		f.forget(key, run)
		close(run.done)
	}()
	run.value, run.err = fn(ctx)
}

func (f *flights[T]) forget(key string, run *flight[T]) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.running[key] == run {
		delete(f.running, key)
	}
}

// leave takes one waiter away. A run that nobody waits for is forgotten at
// once, so that whoever comes next does not join one that is being cancelled.
func (f *flights[T]) leave(key string, run *flight[T]) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if run.waiters--; run.waiters > 0 {
		return
	}
	run.cancel()
	if f.running[key] == run {
		delete(f.running, key)
	}
}
