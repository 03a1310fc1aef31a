// Package compile turns a form into a program: it finds the package, resolves the
// form's names, type-checks the two together and builds them. Start with
// [Compiler.Check].
package compile

import (
	"context"

	"github.com/toolhost/toolhost/plugins/execution/internal/gocmd"
	"github.com/toolhost/toolhost/plugins/execution/internal/session"
	"github.com/toolhost/toolhost/plugins/execution/internal/target"
	"github.com/toolhost/toolhost/plugins/internal/source"
)

// Compiler compiles forms in the packages of a workspace. It is safe for
// concurrent use.
type Compiler struct {
	Finder   *target.Finder
	cache    *gocmd.Cache
	Scrubber *gocmd.Scrubber
}

// New returns a compiler for the workspace at root. What the cache has of other workspaces stays in it.
func New(root source.Root, cache *gocmd.Cache) *Compiler {
	return &Compiler{
		cache:    cache,
		Finder:   &target.Finder{Root: root, Cache: cache},
		Scrubber: &gocmd.Scrubber{Root: string(root)},
	}
}

// Start returns the compilation of the session's next form, whose files are put
// into temp.
func (c *Compiler) Start(s *session.Session, temp string) *Compilation {
	return &Compilation{compiler: c, session: s, temp: temp}
}

// Scrub returns a function that removes directories of the machine from what the
// go command, or the program, printed.
func (c *Compilation) Scrub(ctx context.Context) func(string) string {
	return c.compiler.Scrubber.For(ctx, c.Target.Go)
}
