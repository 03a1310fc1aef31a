package lookup

import (
	"context"
	"fmt"
	"path"
	"path/filepath"
	"strings"

	"github.com/toolhost/toolhost/plugins/internal/gocode"
	"github.com/toolhost/toolhost/plugins/introspection/internal/check"
)

// Scope returns the packages of the workspace that a caller names: one as for
// [Finder.Package], or followed by "/...", all below a directory or an import path.
//
// # Errors
//
// permission_denied for what leads out of the workspace; a plain error if there is no
// such package in the workspace.
func (f Finder) Scope(ctx context.Context, name string) ([]*check.Node, error) {
	base, below := strings.CutSuffix(filepath.ToSlash(name), "...")
	if err := gocode.CheckPackage(base); err != nil {
		return nil, err
	}
	if !below {
		n, err := f.Package(ctx, name)
		if err != nil {
			return nil, err
		}
		if !n.Own {
			return nil, fmt.Errorf("package %s is not in the workspace, and uses are collected there only", n.Path)
		}
		return []*check.Node{n}, nil
	}
	dir := path.Clean(base)
	out := f.Snapshot.Graph.Select(func(n *check.Node) bool {
		rel, ok := f.Snapshot.Root.Relative(n.Dir)
		return n.Own && (dir == "." || ok && isBelow(rel, dir) || isBelow(n.Path, dir))
	})
	if len(out) == 0 {
		return nil, fmt.Errorf("there are no packages of the workspace in %s", name)
	}
	return out, nil
}

func isBelow(name, dir string) bool { return name == dir || strings.HasPrefix(name, dir+"/") }
