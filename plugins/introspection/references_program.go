package main

import (
	"context"
	"fmt"
	"go/types"
	"slices"
	"sync"
	"sync/atomic"
)

// program is the workspace with its tests, type-checked: where each package
// uses which symbols.
type program struct {
	key     stamp
	indexes []*index // of all packages that are searched, by path
}

// programs keeps what was found out by type-checking the workspace. It is safe
// for concurrent use.
//
// Types come from two sources. The workspace's own packages are checked from
// source, so that an edit never waits for the compiler; all others come as
// export data, once (see [world]). What is known of a package is kept until its
// files change or what it imports declares something else, or in other lines: a
// change within a line of a function's body concerns one package alone.
type programs struct {
	newest   atomic.Pointer[program]
	flights  flights[*program]
	outlines outlines

	mu    sync.Mutex // held by a round
	world *world
	parts map[string]part // by variant
}

// part is what is known of one variant.
type part struct {
	outline stamp // of what decides about the outline
	serial  int64 // of the outline: no two are the same, also where the stamps are
	pkg     *types.Package
	content stamp // of what decides about the index
	index   *index
}

// program gives the workspace's as it is now.
func (v *view) program(ctx context.Context) (*program, error) {
	if v.home == "" {
		return nil, errNoModule
	}
	now := v.contentStamp()
	if p := v.programs.newest.Load(); p != nil && p.key == now {
		return p, nil
	}
	return v.programs.flights.do(ctx, fmt.Sprintf("%x", now), func(ctx context.Context) (*program, error) {
		r, err := v.round(ctx)
		if err != nil {
			return nil, err
		}
		defer r.end()
		p, err := r.program(ctx, now)
		if err == nil {
			v.programs.newest.Store(p)
		}
		return p, err
	})
}

// contentStamp stands for all files that a program is made of.
func (v *view) contentStamp() stamp {
	vs := v.graph.variants
	sum := newStamper()
	sum.Write(v.modules[:])
	sum.Write(vs.key[:])
	seen := map[string]bool{}
	for _, id := range sortedKeys(vs.all) {
		if n := vs.all[id]; n.local && !seen[n.dir] {
			seen[n.dir] = true
			sum.files(v.tree.in(n.dir))
		}
	}
	return sum.stamp()
}

// worldStamp stands for what decides about export data: the modules, and the
// files of those packages that can be edited but are not checked from source.
func (v *view) worldStamp() stamp {
	vs := v.graph.variants
	sum := newStamper()
	sum.Write(v.modules[:])
	for _, id := range sortedKeys(vs.all) {
		if n := vs.all[id]; n.local && !n.source {
			sum.files(v.tree.in(n.dir))
		}
	}
	return sum.stamp()
}

// sourceFiles are the files that are checked from source, as they are listed now.
func (v *view) sourceFiles() map[string]file {
	out := map[string]file{}
	for _, n := range v.graph.variants.all {
		if !n.source {
			continue
		}
		for _, f := range v.tree.in(n.dir) {
			out[f.path] = f
		}
	}
	return out
}

// ownVariant is the variant of a package that can be checked from source like
// its importers see it; nil: the go command has to load it.
func (v *view) ownVariant(n *node) *variant {
	if v.graph.variants == nil || n.pattern != n.path {
		return nil
	}
	vt := v.graph.variants.all[n.path]
	if vt == nil || !vt.source || !slices.Equal(vt.files, n.files) || len(vt.files) == 0 {
		return nil
	}
	return vt
}
