package tools

import (
	"context"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/plugins/introspection/internal/lookup"
	"github.com/toolhost/toolhost/plugins/introspection/internal/xref"
	"github.com/toolhost/toolhost/pluginsdk"
)

// within is the part of an input that says where uses are searched.
type within struct {
	Scope string `json:"scope,omitempty" jsonschema:"search here only: a directory (./host), one with those below (./host/...), an import path or a package name"`
	tests
	page
	build
}

func withinArguments() []pluginsdk.Option {
	return append(pageArguments(maxLimit), testsArgument(), pluginsdk.Argument("scope", nameLimit))
}

// useFilter decides which uses are asked for.
type useFilter struct {
	tests bool
	paths map[string]bool // import paths of packages; nil: all
}

// newUseFilter returns an error if the scope has no package: to find nothing there would
// look like an answer.
func newUseFilter(ctx context.Context, f lookup.Finder, in within) (useFilter, error) {
	out := useFilter{tests: in.included()}
	if in.Scope == "" {
		return out, nil
	}
	nodes, err := f.Scope(ctx, in.Scope)
	if err != nil {
		return out, err
	}
	out.paths = map[string]bool{}
	for _, n := range nodes {
		out.paths[n.Path] = true
	}
	return out, nil
}

// pick returns the uses that are asked for.
func (u useFilter) pick(found []xref.Reference) []xref.Reference {
	return slices.DeleteFunc(found, func(r xref.Reference) bool {
		return u.paths != nil && !u.paths[strings.TrimSuffix(r.Package, "_test")] && !u.paths[r.Package] ||
			!u.tests && strings.HasSuffix(r.Position.Filename, "_test.go")
	})
}

// maxLeftOutFiles bounds how many files that build constraints leave out are read.
const maxLeftOutFiles = 1000

// leftOut tells which files that build constraints leave out name something, or how many
// there are if none does.
func leftOut(f lookup.Finder, u useFilter, name string) string {
	var all, naming []string
	for _, n := range f.Snapshot.LeftOut() {
		if u.paths != nil && !u.paths[n.Path] {
			continue
		}
		for _, file := range n.Files {
			if !u.tests && strings.HasSuffix(file, "_test.go") {
				continue
			}
			if all = append(all, file); len(all) <= maxLeftOutFiles && f.Snapshot.Mentions(file, name) {
				naming = append(naming, file)
			}
		}
	}
	switch {
	case len(naming) > 0:
		return f.LeftOutNaming(naming, len(all), name)
	case len(all) > 0:
		return f.LeftOut(all) + "; none of them has the name"
	}
	return ""
}
