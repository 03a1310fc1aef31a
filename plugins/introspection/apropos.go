package main

import (
	"cmp"
	"context"
	"errors"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/toolhost/toolhost/pluginsdk"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

type aproposIn struct {
	Pattern string `json:"pattern" jsonschema:"regular expression, or part of a name, matched against Name and Type.Member; case matters only after (?-i); a plain http.Client is matched with the package's name"`
	Package string `json:"package,omitempty" jsonschema:"search this package only, its unexported names too: an import path, a directory relative to the workspace (./host) or a package name; default: the workspace, the packages that it imports and the standard library"`
}

// matches is what apropos_search answers.
type matches struct {
	Matches    []matched `json:"matches" jsonschema:"most relevant first: the name itself, names that start with the pattern, that have a word that does, that hold it; exported before unexported; the workspace before what it imports before the standard library"`
	Total      int       `json:"total" jsonschema:"how many symbols match; matches has the first 50"`
	Literal    bool      `json:"literal,omitempty" jsonschema:"the pattern is no valid regular expression and was searched for as it stands"`
	DidYouMean []string  `json:"did_you_mean,omitempty" jsonschema:"where nothing matches: names that are near"`
}

type matched struct {
	Name     string `json:"name" jsonschema:"the name in its package, Type.Member for a method or field"`
	Kind     string `json:"kind" jsonschema:"func, method, type, var, const or field"`
	Package  string `json:"package" jsonschema:"import path"`
	Synopsis string `json:"synopsis,omitempty"`
	Position string `json:"position" jsonschema:"path:line:col relative to the workspace; outside of it import/path/file.go:line"`
}

// maxMatches bounds an answer: who has more needs a better pattern.
const maxMatches = 50

func (w *workspace) aproposSearch() tool.Tool {
	return pluginsdk.Func("apropos_search",
		"Finds Go symbols by a part of their name or a regular expression, each with kind, package, position and one line of documentation, "+
			"most relevant first. Use it when you do not know a symbol's exact name or package; describe_symbol tells more of one that you know.",
		w.apropos,
		pluginsdk.Title("Find Go symbols by name"), pluginsdk.Safe(), pluginsdk.Categories("introspection"),
		pluginsdk.Permission(tool.FSRead), pluginsdk.Idempotent(2), pluginsdk.Timeout(patience),
		pluginsdk.Argument("pattern", wordLimit), pluginsdk.Argument("package", wordLimit))
}

func (w *workspace) apropos(ctx context.Context, in aproposIn) (matches, error) {
	if err := denied(in.Package); err != nil {
		return matches{}, err
	}
	m, err := newMatcher(in.Pattern)
	if err != nil {
		return matches{}, err
	}
	v, err := w.view(ctx)
	if err != nil {
		return matches{}, err
	}
	nodes, err := v.searched(ctx, in.Package)
	if err != nil {
		return matches{}, err
	}
	if err := v.read(ctx, nodes); err != nil {
		return matches{}, err
	}
	return v.matches(m, nodes, in.Package != ""), nil
}

// searched are the packages to look for names in.
func (v *view) searched(ctx context.Context, hint string) ([]*node, error) {
	if hint == "" {
		return v.surroundings(ctx)
	}
	n, err := v.pkg(ctx, hint)
	if err != nil {
		return nil, err
	}
	if len(n.files) == 0 {
		return nil, errors.New(v.noFiles(n))
	}
	return []*node{n}, nil
}

// surroundings are the workspace's packages, those that it imports, and all of
// the standard library that can be imported.
func (v *view) surroundings(ctx context.Context) ([]*node, error) {
	std, err := v.loadStd(ctx, v.modules)
	if err != nil {
		return nil, err
	}
	imported := v.imported()
	out := v.graph.sorted(func(n *node) bool { return n.own || imported[n.path] && !n.std && !n.hidden() })
	return append(out, std.sorted(func(n *node) bool { return !n.hidden() })...), nil
}

// imported are the paths that the workspace's packages import.
func (v *view) imported() map[string]bool {
	out := map[string]bool{}
	for _, n := range v.graph.nodes {
		if n.own {
			for _, path := range n.imports {
				out[path] = true
			}
		}
	}
	return out
}

// read parses the files of packages side by side, so that [view.names] has them.
func (v *view) read(ctx context.Context, nodes []*node) error {
	var workers sync.WaitGroup
	work := make(chan file)
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for f := range work {
				v.sources.names(f)
			}
		})
	}
	for _, n := range nodes {
		for _, f := range v.files(n) {
			if ctx.Err() == nil {
				work <- f
			}
		}
	}
	close(work)
	workers.Wait()
	return ctx.Err()
}

// hit is a symbol that matches, with what it is ranked by.
type hit struct {
	declared
	node        *node
	class, tier int
}

func (v *view) matches(m matcher, nodes []*node, internal bool) matches {
	var hits []hit
	for _, n := range nodes {
		for d := range v.declared(n) {
			if !n.own && !internal && !d.exported() {
				continue
			}
			if class, ok := m.declared(n.name, d); ok {
				hits = append(hits, hit{declared: d, node: n, class: class, tier: n.tier()})
			}
		}
	}
	slices.SortFunc(hits, hit.compare)
	out := matches{Matches: []matched{}, Total: len(hits), Literal: m.literal}
	for _, h := range hits[:min(len(hits), maxMatches)] {
		out.Matches = append(out.Matches, matched{
			Name: h.String(), Kind: h.kind, Package: h.node.path, Synopsis: h.synopsis, Position: v.position(h.at, h.node.path),
		})
	}
	if len(hits) == 0 {
		out.DidYouMean = nearest(m.pattern, v.qualifiedNames(nodes))
	}
	return out
}

// tier is how far away a package is: the workspace, a dependency, std.
func (n *node) tier() int {
	switch {
	case n.own:
		return 0
	case !n.std:
		return 1
	}
	return 2
}

// compare puts the more relevant hit first. Of what is equally near, types and
// functions come before members, and short names before long ones.
func (h hit) compare(other hit) int {
	return cmp.Or(
		cmp.Compare(h.class, other.class),
		compareBool(other.exported(), h.exported()),
		cmp.Compare(h.tier, other.tier),
		compareBool(h.of != "", other.of != ""),
		cmp.Compare(len(h.name), len(other.name)),
		strings.Compare(h.String(), other.String()),
		strings.Compare(h.node.path, other.node.path),
	)
}

// compareBool puts false before true.
func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

// qualifiedNames are all that packages declare, with the packages' names.
func (v *view) qualifiedNames(nodes []*node) []string {
	var out []string
	for _, n := range nodes {
		for d := range v.declared(n) {
			if n.own || d.exported() {
				out = append(out, n.name+"."+d.String())
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
