package check

import (
	"context"
	"sync/atomic"

	"github.com/toolhost/toolhost/plugins/introspection/internal/singleflight"
)

// last keeps the newest value of a kind, and shares the work on the next.
type last[T any] struct {
	newest  atomic.Pointer[keyed[T]]
	loading singleflight.Group[T]
}

type keyed[T any] struct {
	key   string
	value T
}

// get returns the value for a key, which compute returns if it is not the newest.
func (l *last[T]) get(ctx context.Context, key string, compute func(context.Context) (T, error)) (T, error) {
	if newest := l.newest.Load(); newest != nil && newest.key == key {
		return newest.value, nil
	}
	return l.loading.Do(ctx, key, func(ctx context.Context) (T, error) {
		value, err := compute(ctx)
		if err == nil {
			l.newest.Store(&keyed[T]{key, value})
		}
		return value, err
	})
}
