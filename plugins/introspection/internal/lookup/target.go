package lookup

import (
	"context"
	"fmt"

	"github.com/toolhost/toolhost/plugins/introspection/internal/check"
	"github.com/toolhost/toolhost/plugins/introspection/internal/xref"
)

// Target is a symbol whose uses are asked for, and the program to find them in.
type Target struct {
	*Symbol
	Finder   Finder
	Key      xref.Key
	Position string
	Program  *xref.Program
}

// FindTarget returns the target that a caller names, as [Find] does.
func FindTarget(ctx context.Context, w *check.Workspace, name, pkg string) (*Target, error) {
	f, s, err := Find(ctx, w, name, pkg)
	if err != nil {
		return nil, err
	}
	keys := xref.Keys{Fset: s.Package.Fset}
	t := &Target{Symbol: s, Finder: f, Key: keys.Of(s.Object)}
	if t.Key == "" {
		// To search for an empty key would find nothing, which would look like an answer.
		return nil, fmt.Errorf("%s.%s is local to a function, and its uses are not collected; "+
			"those of package-level symbols, of fields and of types are", s.Package.Node.Path, s.Name())
	}
	if _, t.Position, err = f.Snapshot.Locate(ctx, s.Package, s.Object); err != nil {
		return nil, err
	}
	t.Program, err = f.Snapshot.Program(ctx)
	return t, err
}

// Title returns the import path and the name, with the type that declares a member.
func (t *Target) Title() string {
	if t.Key.Placed() {
		return t.Package.Node.Path + "." + t.Name()
	}
	return string(t.Key)
}

// Callable returns an error for what cannot be called by its name.
func (t *Target) Callable() error {
	if isCallable(t.Object) {
		return nil
	}
	return t.NotA("function")
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
