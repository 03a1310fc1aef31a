package check

import (
	"context"
	"fmt"

	"github.com/toolhost/toolhost/plugins/introspection/internal/xref"
)

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
