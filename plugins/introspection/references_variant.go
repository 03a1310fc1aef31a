package main

import (
	"go/types"
	"maps"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"
)

// variant is a package as the go command builds it for one purpose: to be
// imported, with its own test files, or anew for the tests of a package that it
// imports.
type variant struct {
	id        string // "path", or "path [path.test]"
	path      string
	dir       string
	goVersion string // such as go1.26; empty: the newest
	files     []string
	imports   map[string]string            // import path to id
	nowhere   map[string]*packages.Package // imports that lead nowhere
	edges     []string                     // the ids in imports, sorted
	trouble   []packages.Error             // what the go command says against it
	local     bool                         // its files may change
	source    bool                         // it is type-checked from source; others come as export data
}

// variants are the packages of the workspace with their tests, and all that
// they import.
type variants struct {
	key   stamp // see [view.importsStamp]
	all   map[string]*variant
	sizes types.Sizes
	// The ids of those whose uses of symbols are collected: of each package of
	// the workspace the variant with its test files, which has all others too.
	// No file is in two of them.
	searched []string
}

// variantMode is what variants need.
const variantMode = graphMode | packages.NeedForTest | packages.NeedTypesSizes

// withoutTests leaves the packages as importers see them.
func withoutTests(roots []*packages.Package) []*packages.Package {
	return slices.DeleteFunc(slices.Clone(roots), func(p *packages.Package) bool {
		return p.ID != p.PkgPath || p.ForTest != "" || isTestProgram(p)
	})
}

// isTestProgram tells the program that the go command makes of tests: it is
// nobody's source.
func isTestProgram(p *packages.Package) bool {
	return p.Name == "main" && strings.HasSuffix(p.ID, ".test")
}

func newVariants(key stamp, roots []*packages.Package) *variants {
	out := &variants{key: key, all: map[string]*variant{}}
	packages.Visit(roots, nil, func(p *packages.Package) {
		// Visit comes to a package after all that it imports.
		if exists(p) {
			out.all[p.ID] = out.newVariant(p)
		}
	})
	best := map[string]*variant{}
	for _, p := range roots {
		n := out.all[p.ID]
		if n == nil || !n.source || isTestProgram(p) {
			continue
		}
		out.sizes = p.TypesSizes
		if known := best[n.path]; known == nil || len(known.files) < len(n.files) {
			best[n.path] = n
		}
	}
	for _, path := range sortedKeys(best) {
		out.searched = append(out.searched, best[path].id)
	}
	return out
}

func (vs *variants) newVariant(p *packages.Package) *variant {
	n := &variant{
		id: p.ID, path: p.PkgPath, dir: p.Dir, files: p.GoFiles, trouble: p.Errors,
		imports: map[string]string{}, nowhere: map[string]*packages.Package{},
	}
	if m := p.Module; m != nil {
		n.local = m.Main || m.Replace != nil && m.Replace.Version == ""
		n.source = m.Main
		if m.GoVersion != "" {
			n.goVersion = "go" + m.GoVersion
		}
	}
	for path, imported := range p.Imports {
		if exists(imported) {
			n.imports[path] = imported.ID
		} else {
			n.nowhere[path] = imported
		}
	}
	n.edges = slices.Compact(slices.Sorted(maps.Values(n.imports)))
	for _, id := range n.edges {
		// What is built upon source cannot come as export data, which would have
		// that source's types once more.
		n.source = n.source || vs.all[id] != nil && vs.all[id].source
	}
	return n
}

// outside are the packages that source imports and that come as export data, by
// path.
func (vs *variants) outside() []string {
	found := map[string]bool{}
	for _, n := range vs.all {
		if !n.source {
			continue
		}
		for _, id := range n.edges {
			if imported := vs.all[id]; imported != nil && !imported.source {
				found[imported.path] = true
			}
		}
	}
	return sortedKeys(found)
}
