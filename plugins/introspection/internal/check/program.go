package check

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/toolhost/toolhost/plugins/introspection/internal/singleflight"
	"github.com/toolhost/toolhost/plugins/introspection/internal/xref"
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

// Program returns the uses of symbols in the workspace, its tests included.
//
// # Errors
//
// [ErrNoModule]; a plain error if the go command fails; the context's error.
func (s *Snapshot) Program(ctx context.Context) (*xref.Program, error) {
	if !s.InModule() {
		return nil, ErrNoModule
	}
	key := fmt.Sprintf("%x", s.contentFingerprint())
	return s.workspace.checker.lastProgram.get(ctx, key, func(ctx context.Context) (*xref.Program, error) {
		g := s.Graph
		b, err := s.newBatch(ctx, g, "")
		if err != nil {
			return nil, err
		}
		defer b.end()
		out := &xref.Program{Indexes: make([]*xref.Index, len(g.indexed))}
		return out, each(len(g.indexed), func(i int) (err error) {
			out.Indexes[i], err = b.index(ctx, g.variants[g.indexed[i]])
			return err
		})
	})
}
