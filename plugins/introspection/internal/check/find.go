package check

import (
	"context"
	"strings"

	"golang.org/x/mod/module"
)

// Find returns the package with an import path, also one that the workspace could
// import but does not. The package of tests next to a package is found by the path that
// the go command gives it, such as net/http_test. It returns nil if there is none.
func (s *Snapshot) Find(ctx context.Context, path string) (*Node, error) {
	if n := s.Graph.Nodes[path]; n != nil {
		return n, nil
	}
	if of, ok := strings.CutSuffix(path, "_test"); ok {
		for _, n := range s.Graph.TestsOf(of) {
			if n.Path == path {
				return n, nil
			}
		}
	}
	if !isImportPath(path) {
		return nil, nil
	}
	if s.mayProvide(path) {
		return s.Unlisted(ctx, path)
	}
	if first, _, _ := strings.Cut(path, "/"); strings.Contains(first, ".") {
		return nil, nil
	}
	std, err := s.Std(ctx)
	if err != nil {
		return nil, err
	}
	return std.Nodes[path], nil
}

// isImportPath reports whether a path is not a pattern, query or flag.
func isImportPath(path string) bool {
	return module.CheckImportPath(path) == nil && !strings.Contains(path, "...")
}

// mayProvide reports whether a module that the workspace requires could have a
// package of this path. To ask the go command for any other path would be slow, and
// might send what a caller typed over the network.
func (s *Snapshot) mayProvide(path string) bool {
	for _, m := range s.Modules() {
		if path == m || strings.HasPrefix(path, m+"/") {
			return true
		}
	}
	return false
}
