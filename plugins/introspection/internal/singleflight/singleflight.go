// Package singleflight lets calls that need the same result at the same time
// share the work. Unlike golang.org/x/sync/singleflight, it cancels work that
// nothing waits for any more. See [Group].
package singleflight

import (
	"context"
	"fmt"
	"sync"
)

// Group shares work by key. A call that gives up leaves; the work is canceled
// when the last call has left. The zero Group is ready to use, and safe for
// concurrent use.
type Group[T any] struct {
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

// Do returns the result of fn for key. If another call for the key is running
// fn already, Do waits for that result.
//
// # Errors
//
// The error of fn, the error of ctx if it ends first, or an error that says so
// if fn panics.
func (g *Group[T]) Do(ctx context.Context, key string, fn func(context.Context) (T, error)) (T, error) {
	f := g.join(key, fn)
	select {
	case <-f.done:
		return f.value, f.err
	case <-ctx.Done():
		g.leave(key, f)
		var zero T
		return zero, ctx.Err()
	}
}

func (g *Group[T]) join(key string, fn func(context.Context) (T, error)) *flight[T] {
	g.mu.Lock()
	defer g.mu.Unlock()
	if f := g.running[key]; f != nil {
		f.waiters++
		return f
	}
	// The work belongs to all calls that wait for it, so it must not end with
	// the context of any single one.
	ctx, cancel := context.WithCancel(context.Background())
	f := &flight[T]{done: make(chan struct{}), cancel: cancel, waiters: 1}
	if g.running == nil {
		g.running = map[string]*flight[T]{}
	}
	g.running[key] = f
	go g.run(ctx, key, f, fn)
	return f
}

func (g *Group[T]) run(ctx context.Context, key string, f *flight[T], fn func(context.Context) (T, error)) {
	defer func() {
		// A panic of the type checker on broken code must not end the process.
		if v := recover(); v != nil {
			f.err = fmt.Errorf("panic while loading: %v", v)
		}
		f.cancel()
		g.mu.Lock()
		g.forget(key, f)
		g.mu.Unlock()
		close(f.done)
	}()
	f.value, f.err = fn(ctx)
}

// leave removes one waiter. Canceled work is forgotten at once, so that the
// next call does not join it.
func (g *Group[T]) leave(key string, f *flight[T]) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if f.waiters--; f.waiters > 0 {
		return
	}
	f.cancel()
	g.forget(key, f)
}

// forget removes a flight. The lock is held.
func (g *Group[T]) forget(key string, f *flight[T]) {
	if g.running[key] == f {
		delete(g.running, key)
	}
}
