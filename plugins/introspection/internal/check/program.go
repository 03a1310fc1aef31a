package check

import (
	"context"
	"fmt"

	"github.com/toolhost/toolhost/plugins/introspection/internal/xref"
)

// Program returns the uses of symbols in the workspace, its tests included.
//
// The first time this takes seconds for a hundred thousand lines: the call that ctx belongs
// to is told how far it has got.
//
// # Errors
//
// A plain error without a module, or if the go command fails; the context's error.
func (s *Snapshot) Program(ctx context.Context) (*xref.Program, error) {
	if !s.InModule() {
		return nil, s.NoModule()
	}
	progress := &s.workspace.checker.progress
	defer progress.watch(ctx)()
	key := fmt.Sprintf("%x", s.contentFingerprint())
	return s.workspace.checker.lastProgram.get(ctx, key, func(ctx context.Context) (*xref.Program, error) {
		g := s.Graph
		b, err := s.newBatch(ctx, g, "")
		if err != nil {
			return nil, err
		}
		defer b.end()
		files := 0
		for _, id := range g.indexed {
			files += len(g.variants[id].Files)
		}
		progress.begin(files)
		b.parser.onRead = func() { progress.add(1, "reading files") }
		out := &xref.Program{Indexes: make([]*xref.Index, len(g.indexed))}
		return out, each(len(g.indexed), func(i int) (err error) {
			n := g.variants[g.indexed[i]]
			out.Indexes[i], err = b.index(ctx, n)
			progress.add(len(n.Files), "checked package "+n.Path)
			return err
		})
	})
}
