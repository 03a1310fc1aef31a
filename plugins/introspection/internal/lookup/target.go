package lookup

import (
	"context"
	"fmt"
	"go/types"
	"path/filepath"

	"github.com/toolhost/toolhost/plugins/introspection/internal/check"
	"github.com/toolhost/toolhost/plugins/introspection/internal/typeutil"
	"github.com/toolhost/toolhost/plugins/introspection/internal/xref"
)

// Target is a symbol whose uses are asked for, and the program to find them in.
type Target struct {
	Object   types.Object
	Key      xref.Key
	Position string
	Program  *xref.Program
	Snapshot *check.Snapshot

	symbol *Symbol // nil for what a test file declares
}

// FindTarget returns the target that a caller names, as [Find] does. It finds what
// test files declare, too.
func FindTarget(ctx context.Context, w *check.Workspace, name, pkg string) (*Target, error) {
	f, s, err := Find(ctx, w, name, pkg)
	if err != nil {
		return f.inTests(ctx, name, pkg, err)
	}
	_, position, err := f.Snapshot.Locate(ctx, s.Package, s.Object)
	if err != nil {
		return nil, err
	}
	program, err := f.Snapshot.Program(ctx)
	if err != nil {
		return nil, err
	}
	var keys xref.Keys
	return &Target{
		Object: s.Object, Key: keys.Of(s.Object), Position: position,
		Program: program, Snapshot: f.Snapshot, symbol: s,
	}, nil
}

// inTests searches test files for what was not found elsewhere. It returns the error
// missing if that fails.
func (f Finder) inTests(ctx context.Context, name, pkg string, missing error) (*Target, error) {
	ways, err := parseName(name)
	if err != nil || f.Snapshot == nil || !f.Snapshot.InModule() || ctx.Err() != nil {
		return nil, missing
	}
	program, err := f.Snapshot.Program(ctx)
	if err != nil {
		return nil, missing
	}
	var found []*Target
	var candidates []string
	for _, x := range program.Indexes {
		for _, p := range ways {
			if pkg != "" && !f.isNamed(x, pkg) || p.pkg != "" && !f.isNamed(x, p.pkg) {
				continue
			}
			if t := f.inTestsOf(x, p); t != nil {
				t.Program, t.Snapshot = program, f.Snapshot
				found, candidates = append(found, t), append(candidates, string(t.Key))
			}
		}
	}
	switch len(found) {
	case 0:
		return nil, missing
	case 1:
		return found[0], nil
	}
	return nil, Ambiguous("symbol", name, candidates)
}

// isNamed reports whether a name means the package of an index.
func (f Finder) isNamed(x *xref.Index, name string) bool {
	if files := x.Files(); isDir(name) && len(files) > 0 {
		rel, ok := f.Snapshot.Root.Relative(filepath.Dir(files[0]))
		return ok && "./"+rel == name
	}
	n := check.Node{Path: x.Path(), Name: x.Types.Name()}
	return n.Named(name)
}

// inTestsOf returns what a test file of a package declares, or nil.
func (f Finder) inTestsOf(x *xref.Index, p parsed) *Target {
	obj := x.Types.Scope().Lookup(p.name)
	if obj == nil {
		return nil
	}
	if p.member != "" {
		if obj, _, _ = types.LookupFieldOrMethod(obj.Type(), true, x.Types, p.member); obj == nil {
			return nil
		}
	}
	var keys xref.Keys
	k := keys.Of(obj)
	at, ok := x.InTests(k)
	if !ok {
		return nil
	}
	return &Target{Object: obj, Key: k, Position: f.Snapshot.Root.Position(at, x.Path())}
}

// Callable returns an error for what cannot be called by its name.
func (t *Target) Callable() error {
	switch t.Object.(type) {
	case *types.Func, *types.Builtin:
		return nil
	}
	if t.symbol != nil {
		return t.symbol.NotA("function")
	}
	return fmt.Errorf("%s is a %s, not a function; who_references lists its uses", t.Key, typeutil.Kind(t.Object))
}

// Errors returns what is wrong with the packages that are searched, at most
// [check.MaxErrors].
func (t *Target) Errors() []string {
	var out []string
	for _, x := range t.Program.Indexes {
		out = append(out, x.Errors...)
	}
	return out[:min(len(out), check.MaxErrors)]
}
