package check

import (
	"go/types"
	"maps"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"

	"github.com/toolhost/toolhost/plugins/introspection/internal/source"
)

// variant is a package as the go command builds it for one purpose: to be imported,
// with its own test files, or again for the tests of a package that it imports. See
// `go help list` on test variants.
type variant struct {
	id        string // "path", or "path [path.test]"
	path      string
	dir       string
	goVersion string // such as go1.26; empty: the newest
	files     []string
	imports   map[string]string            // import path to id
	missing   map[string]*packages.Package // imports without a package
	errors    []packages.Error             // what the go command reports
	source    bool                         // it is type-checked from source; others come as export data
}

// variants are the packages of a workspace with their tests, and all that they
// import.
type variants struct {
	all   map[string]*variant
	sizes types.Sizes
	// The ids of the variants whose uses of symbols are collected: of each package of
	// the workspace the one with its test files, which has all other files too. No
	// file is in two of them.
	indexed []string
}

// variantMode is what variants need besides graphMode.
const variantMode = packages.NeedForTest | packages.NeedTypesSizes

// withoutTests returns the packages as importers see them.
func withoutTests(roots []*packages.Package) []*packages.Package {
	return slices.DeleteFunc(slices.Clone(roots), func(p *packages.Package) bool {
		return p.ID != p.PkgPath || p.ForTest != "" || isTestProgram(p)
	})
}

// isTestProgram reports whether a package is the program that the go command
// generates to run tests.
func isTestProgram(p *packages.Package) bool {
	return p.Name == "main" && strings.HasSuffix(p.ID, ".test")
}

func newVariants(roots []*packages.Package) variants {
	out := variants{all: map[string]*variant{}}
	packages.Visit(roots, nil, func(p *packages.Package) {
		// Visit calls this for a package after all that it imports.
		if exists(p) {
			out.all[p.ID] = out.newVariant(p)
		}
	})
	best := map[string]*variant{}
	for _, p := range roots {
		vt := out.all[p.ID]
		if vt == nil || !vt.source || isTestProgram(p) {
			continue
		}
		out.sizes = p.TypesSizes
		if known := best[vt.path]; known == nil || len(known.files) < len(vt.files) {
			best[vt.path] = vt
		}
	}
	for _, path := range source.SortedKeys(best) {
		out.indexed = append(out.indexed, best[path].id)
	}
	return out
}

func (vs variants) newVariant(p *packages.Package) *variant {
	vt := &variant{
		id: p.ID, path: p.PkgPath, dir: p.Dir, files: p.GoFiles, errors: p.Errors, source: isLocal(p.Module),
		imports: map[string]string{}, missing: map[string]*packages.Package{},
	}
	if p.Module != nil && p.Module.GoVersion != "" {
		vt.goVersion = "go" + p.Module.GoVersion
	}
	for path, imported := range p.Imports {
		if !exists(imported) {
			vt.missing[path] = imported
			continue
		}
		vt.imports[path] = imported.ID
		// A package that imports source cannot come as export data, which would have
		// the types of that source a second time.
		vt.source = vt.source || vs.all[imported.ID] != nil && vs.all[imported.ID].source
	}
	return vt
}

// with returns the variants and a package that is not among them.
func (vs variants) with(n *Node) variants {
	if vs.all[n.Path] != nil {
		return vs
	}
	vt := &variant{
		id: n.Path, path: n.Path, dir: n.Dir, files: n.Files, errors: n.Errors, source: true, imports: map[string]string{},
	}
	vs.all = maps.Clone(vs.all)
	vs.all[n.Path] = vt
	for _, path := range n.Imports {
		if path == "C" {
			continue // the type checker is told to make it up
		}
		vt.imports[path] = path
		if vs.all[path] == nil {
			vs.all[path] = &variant{id: path, path: path}
		}
	}
	return vs
}

// imported returns the packages that source imports and that come as export data,
// by path.
func (vs variants) imported() []string {
	found := map[string]bool{}
	for _, vt := range vs.all {
		if !vt.source {
			continue
		}
		for _, id := range vt.imports {
			if imported := vs.all[id]; imported != nil && !imported.source {
				found[imported.path] = true
			}
		}
	}
	return source.SortedKeys(found)
}

// dirs returns the directories of what is type-checked from source, sorted.
func (vs variants) dirs() []string {
	found := map[string]bool{}
	for _, vt := range vs.all {
		if vt.source {
			found[vt.dir] = true
		}
	}
	return source.SortedKeys(found)
}

// asImported returns the variant that importers of a package see, if it can be
// type-checked from source, or nil.
func (vs variants) asImported(n *Node) *variant {
	if n.pattern != n.Path {
		return nil
	}
	vt := vs.all[n.Path]
	if vt == nil || !vt.source || !slices.Equal(vt.files, n.Files) || len(vt.files) == 0 {
		return nil
	}
	return vt
}
