package cgroup

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/toolhost/toolhost/internal/confine"
)

// Group is a group of processes with limits. It is safe for concurrent use.
type Group struct {
	kernel kernel
	parts  []part
}

// part is the group in one hierarchy.
type part struct {
	dir    string
	v2     bool
	limits []Limit
}

// Create makes a group for a purpose, such as a plugin's name, with those of the limits that
// [Tree.By] has; [Group.Enforces] tells which. With none it is a group without directories,
// which does nothing. The first group in version 2 moves this process to a leaf of its
// cgroup, "toolhost-host".
//
// # Errors
//
// A limit is out of its bounds, or the kernel refuses what was possible when the tree was
// found, as when another process has come into the cgroup. Then nothing is left of it.
func (t *Tree) Create(purpose string, limits Limits) (_ *Group, err error) {
	wanted, err := limits.List()
	if err != nil {
		return nil, err
	}
	name, err := confine.NewName(purpose)
	if err != nil {
		return &Group{}, nil // no limit can be had, as [Tree.By] says
	}
	g := &Group{kernel: t.kernel}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("the limits of %s cannot be set: %w", purpose, err), g.Close())
		}
	}()
	for _, limit := range wanted {
		p := t.parents[limit]
		if p.err != nil {
			continue
		}
		dir := filepath.Join(p.dir, name)
		i := slices.IndexFunc(g.parts, func(have part) bool { return have.dir == dir })
		if i < 0 {
			if p.v2 {
				if err := t.divide(); err != nil {
					return nil, err
				}
			}
			if err := t.kernel.mkdir(dir); err != nil {
				return nil, err
			}
			i = len(g.parts)
			g.parts = append(g.parts, part{dir: dir, v2: p.v2})
		}
		if err := set(t.kernel, dir, p.v2, limit, limits); err != nil {
			return nil, err
		}
		g.parts[i].limits = append(g.parts[i].limits, limit)
	}
	if p := t.parents[counting]; p.err == nil && len(g.parts) > 0 {
		dir := filepath.Join(p.dir, name)
		if !slices.ContainsFunc(g.parts, func(have part) bool { return have.dir == dir }) && t.kernel.mkdir(dir) == nil {
			g.parts = append(g.parts, part{dir: dir}) // it bounds nothing, so a group can do without
		}
	}
	return g, nil
}

// Enforces returns the limits that hold.
func (g *Group) Enforces() []Limit {
	var out []Limit
	for _, p := range g.parts {
		out = append(out, p.limits...)
	}
	return out
}

// Exceeded says what the limits have kept from the group. After [Group.Close] this is not
// known any more.
func (g *Group) Exceeded() (e Exceeded) {
	for _, p := range g.parts {
		for _, limit := range p.limits {
			e.add(p.dir, p.v2, limit)
		}
	}
	return e
}
