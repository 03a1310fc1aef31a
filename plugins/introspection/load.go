package main

import (
	"context"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"strings"
	"sync"

	"golang.org/x/tools/go/packages"
)

// unit is a package loaded with its types and syntax. Its types are not to be
// mixed with those of another unit: each load has its own.
type unit struct {
	*packages.Package
	node   *node
	errors []string // what is wrong with it, for people, at most [maxErrors]
	stamp  stamp
	used   int64 // see [units.put]

	once         sync.Once
	declarations map[token.Pos]declaration
}

// What a package is loaded with. Dependencies come from export data, which the
// go command's build cache holds; only the package itself is read as source.
const unitMode = packages.NeedName | packages.NeedFiles | packages.NeedSyntax | packages.NeedTypes |
	packages.NeedTypesInfo | packages.NeedTypesSizes | packages.NeedImports | packages.NeedModule

const (
	// maxUnits is how many packages stay loaded. One takes ten megabytes, a large
	// one fifty.
	maxUnits = 16
	// maxLoads is how many packages load at once: loading is the go command's
	// and the type checker's work on all cores.
	maxLoads  = 2
	maxErrors = 10
)

// units are the packages that are loaded. It is safe for concurrent use.
type units struct {
	mu      sync.Mutex
	loaded  map[string]*unit // by pattern
	clock   int64
	flights flights[*unit]
	once    sync.Once
	slots   chan struct{}
}

// parseFile leaves out the resolution of identifiers within a file, which the
// type checker does better.
func parseFile(fset *token.FileSet, name string, src []byte) (*ast.File, error) {
	return parser.ParseFile(fset, name, src, parser.ParseComments|parser.SkipObjectResolution)
}

// unit loads a package, or gives what was loaded before if nothing that it is
// made of has changed since.
func (v *view) unit(ctx context.Context, n *node) (*unit, error) {
	now := v.stamp(n)
	if u := v.units.get(n.pattern, now); u != nil {
		return u, nil
	}
	return v.units.flights.do(ctx, fmt.Sprintf("%x %s", now, n.pattern), func(ctx context.Context) (*unit, error) {
		release, err := v.units.slot(ctx)
		if err != nil {
			return nil, err
		}
		defer release()
		u, err := v.load(ctx, n)
		if err != nil {
			return nil, err
		}
		u.stamp = now
		v.units.put(n.pattern, u)
		return u, nil
	})
}

// load reads a package of the workspace from source, with what it imports from
// it; the go command loads any other.
func (v *view) load(ctx context.Context, n *node) (*unit, error) {
	if own := v.ownVariant(n); own != nil {
		u, err := v.loadSource(ctx, n, own)
		if u != nil || err != nil {
			return u, err
		}
	}
	return v.loadCompiled(ctx, n)
}

// loadSource gives nil where the go command has to turn C into Go first.
func (v *view) loadSource(ctx context.Context, n *node, own *variant) (*unit, error) {
	r, err := v.round(ctx)
	if err != nil {
		return nil, err
	}
	defer r.end()
	c, err := r.check(ctx, own, false)
	if err != nil || c.usesC() {
		return nil, err
	}
	p := c.described(own, r.vs)
	return &unit{Package: p, node: n, errors: v.faults(p)}, nil
}

func (w *workspace) loadCompiled(ctx context.Context, n *node) (*unit, error) {
	pkgs, err := w.run(ctx, unitMode, n.pattern)
	if err != nil {
		return nil, err
	}
	if len(pkgs) != 1 || pkgs[0].Types == nil {
		return nil, fmt.Errorf("package %s could not be loaded: the go command gave %d packages for it", n.path, len(pkgs))
	}
	return &unit{Package: pkgs[0], node: n, errors: w.faults(pkgs[0])}, nil
}

// faults lists a package's errors as "file:line:col: msg". The go command, the
// compiler and the type checker find the same ones, each in its own words: the
// first to speak of a place is heard, and what has no place only if nothing else
// is wrong.
func (w *workspace) faults(p *packages.Package) []string {
	var out, elsewhere []string
	places := map[string]bool{}
	for _, e := range append(badImports(p), p.Errors...) {
		text, place := w.scrub(e.Msg), w.scrub(e.Pos)
		switch {
		case place == "" || place == "-":
			elsewhere = append(elsewhere, text)
		case !places[place]:
			places[place] = true
			out = append(out, place+": "+text)
		}
	}
	if len(out) == 0 {
		out = elsewhere
	}
	return out[:min(len(out), maxErrors)]
}

// badImports are the errors of imports that lead nowhere: the go command knows
// the reason, such as a module that go.mod lacks, and the type checker does not.
func badImports(p *packages.Package) []packages.Error {
	var out []packages.Error
	for _, path := range sortedKeys(p.Imports) {
		if imported := p.Imports[path]; !exists(imported) {
			out = append(out, imported.Errors...)
		}
	}
	return out
}

// trouble is the first thing that is wrong with the package, to go behind an
// error that it may explain; empty: nothing.
func (u *unit) trouble() string {
	if len(u.errors) == 0 {
		return ""
	}
	return fmt.Sprintf("; the package does not compile: %s", strings.TrimSuffix(u.errors[0], "."))
}

func (u *units) get(pattern string, now stamp) *unit {
	u.mu.Lock()
	defer u.mu.Unlock()
	found := u.loaded[pattern]
	if found == nil || found.stamp != now {
		return nil
	}
	u.clock++
	found.used = u.clock
	return found
}

// put keeps a unit in place of the one used longest ago.
func (u *units) put(pattern string, loaded *unit) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.loaded == nil {
		u.loaded = map[string]*unit{}
	}
	u.clock++
	loaded.used = u.clock
	u.loaded[pattern] = loaded
	for len(u.loaded) > maxUnits {
		oldest := pattern
		for p, other := range u.loaded {
			if other.used < u.loaded[oldest].used {
				oldest = p
			}
		}
		delete(u.loaded, oldest)
	}
}

// slot waits until another load may start.
func (u *units) slot(ctx context.Context) (release func(), err error) {
	u.once.Do(func() { u.slots = make(chan struct{}, maxLoads) })
	select {
	case u.slots <- struct{}{}:
		return func() { <-u.slots }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
