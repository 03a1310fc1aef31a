package check

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"golang.org/x/tools/go/packages"

	"github.com/toolhost/toolhost/plugins/internal/source"
	"github.com/toolhost/toolhost/plugins/introspection/internal/singleflight"
)

// unlisted has packages that are in no graph and were asked for by name, such as
// those below testdata. It is safe for concurrent use.
type unlisted struct {
	mu      sync.Mutex
	known   map[string]unlistedPackage // by pattern
	loading singleflight.Group[*Node]
}

// unlistedPackage is a package with the state of the files that it was found in.
type unlistedPackage struct {
	modules source.Fingerprint
	node    *Node
	files   []source.File
}

// Unlisted finds the package in a directory of the workspace that is in no graph, or nil. Its path must be known to
// be harmless for the go command.
func (s *Snapshot) Unlisted(ctx context.Context, dir string) (*Node, error) {
	pattern := dir
	if rel, ok := s.workspace.base().Relative(dir); ok {
		pattern = strings.TrimSuffix("./"+rel, "/.")
	}
	u := &s.workspace.unlisted
	if n := u.get(pattern, s); n != nil {
		return n, nil
	}
	n, err := u.loading.Do(ctx, fmt.Sprintf("%x %s", s.modules, pattern), func(ctx context.Context) (*Node, error) {
		pkgs, err := s.workspace.command().load(ctx, graphMode&^packages.NeedDeps, pattern)
		if err != nil || len(pkgs) == 0 || !exists(pkgs[0]) && len(pkgs[0].IgnoredFiles) == 0 {
			return nil, err
		}
		n := new(Graph).newNode(pkgs[0])
		n.pattern, n.Own = pattern, pkgs[0].Module != nil && pkgs[0].Module.Main
		return n, nil
	})
	if n != nil && err == nil {
		u.put(pattern, unlistedPackage{modules: s.modules, node: n, files: s.listing.In(n.Dir)})
	}
	return n, err
}

func (u *unlisted) get(pattern string, s *Snapshot) *Node {
	u.mu.Lock()
	defer u.mu.Unlock()
	known, ok := u.known[pattern]
	if !ok || known.modules != s.modules || !slices.Equal(known.files, s.listing.In(known.node.Dir)) {
		return nil
	}
	return known.node
}

func (u *unlisted) put(pattern string, found unlistedPackage) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.known == nil {
		u.known = map[string]unlistedPackage{}
	}
	u.known[pattern] = found
}
