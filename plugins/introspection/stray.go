package main

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"golang.org/x/tools/go/packages"
)

// strays are packages outside of the graph that were asked for by name, such as
// those below testdata. It is safe for concurrent use.
type strays struct {
	mu      sync.Mutex
	known   map[string]stray
	flights flights[*node]
}

// stray is a package outside of the graph, and what it was found in.
type stray struct {
	modules stamp
	node    *node
	files   []file
}

// stray finds a package outside of the graph by a pattern that is known to be
// harmless; nil: there is none.
func (v *view) stray(ctx context.Context, pattern string) (*node, error) {
	if n := v.strays.get(pattern, v); n != nil {
		return n, nil
	}
	flight := fmt.Sprintf("%x %s", v.modules, pattern)
	n, err := v.strays.flights.do(ctx, flight, func(ctx context.Context) (*node, error) {
		pkgs, err := v.run(ctx, graphMode&^packages.NeedDeps, pattern)
		if err != nil || len(pkgs) == 0 || !exists(pkgs[0]) {
			return nil, err
		}
		n := newNode(pkgs[0])
		n.pattern, n.own = pattern, pkgs[0].Module != nil && pkgs[0].Module.Main
		return n, nil
	})
	if n != nil && err == nil {
		v.strays.put(pattern, stray{modules: v.modules, node: n, files: v.tree.in(n.dir)})
	}
	return n, err
}

func (s *strays) get(pattern string, v *view) *node {
	s.mu.Lock()
	defer s.mu.Unlock()
	known, ok := s.known[pattern]
	if !ok || known.modules != v.modules || !slices.Equal(known.files, v.tree.in(known.node.dir)) {
		return nil
	}
	return known.node
}

func (s *strays) put(pattern string, found stray) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.known == nil {
		s.known = map[string]stray{}
	}
	s.known[pattern] = found
}
