package tools

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/plugins/internal/gocode"
	"github.com/toolhost/toolhost/plugins/internal/source"
	"github.com/toolhost/toolhost/plugins/introspection/internal/check"
	"github.com/toolhost/toolhost/plugins/introspection/internal/lookup"
	"github.com/toolhost/toolhost/pluginsdk"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

type aproposIn struct {
	Pattern string `json:"pattern" jsonschema:"part of a name, or a regular expression, for Name and Type.Member; case matters only after (?-i); http.Client is matched with the package's name"`
	Package string `json:"package,omitempty" jsonschema:"search this package only, its unexported names too: import path, directory (./host) or package name; default: the workspace, what it imports and the standard library"`
	tests
	page
	build
}

// matches is the answer of apropos_search.
type matches struct {
	Matches []matched `json:"matches" jsonschema:"most relevant first: names equal to the pattern, names that start with it, names with a word that starts with it, names that contain it; exported before unexported; test files last; the workspace before its imports before the standard library"`
	Total   int       `json:"total" jsonschema:"how many symbols match; matches has 50 of them unless limit says otherwise"`
	rest
	Literal    bool     `json:"literal,omitempty" jsonschema:"the pattern is not a valid regular expression and was searched for literally"`
	DidYouMean []string `json:"did_you_mean,omitempty" jsonschema:"if nothing matches: similar names"`
}

type matched struct {
	Name     string `json:"name" jsonschema:"the name in its package, Type.Member for a method or field"`
	Kind     string `json:"kind" jsonschema:"func, method, type, var, const or field"`
	Package  string `json:"package,omitempty" jsonschema:"import path; missing if build constraints leave out all of its files"`
	Synopsis string `json:"synopsis,omitempty"`
	Position string `json:"position" jsonschema:"path:line:col relative to the workspace; outside of it import/path/file.go:line"`
	LeftOut  bool   `json:"left_out,omitempty" jsonschema:"build constraints leave the file out; goos or tags can include it"`
}

// maxMatches bounds an answer if the caller does not.
const maxMatches = 50

func aproposSearch(w *check.Workspace) tool.Tool {
	return define(w, "apropos_search",
		"Finds Go symbols by a part of their name or a regular expression, each with kind, package, position and "+
			"one line of documentation, most relevant first. Use it when you do not know a symbol's exact name or "+
			"package.",
		apropos, append(pageArguments(maxLimit), pluginsdk.Title("Find Go symbols by name"),
			pluginsdk.Categories("introspection"), testsArgument(), pluginsdk.Argument("pattern", nameLimit),
			pluginsdk.Argument("package", nameLimit), pluginsdk.Argument("limit", `{"default": 50}`))...)
}

func apropos(ctx context.Context, w *check.Workspace, in aproposIn) (matches, error) {
	f, err := lookup.New(ctx, w, in.Package)
	if err != nil {
		return matches{}, err
	}
	m, err := newMatcher(in.Pattern)
	if err != nil {
		return matches{}, err
	}
	nodes, err := searched(ctx, f, in.Package)
	if err != nil {
		return matches{}, err
	}
	all := nodes
	if in.included() {
		all = append(slices.Clip(nodes), testsOf(f, in.Package, nodes)...)
	}
	if err := f.Snapshot.Parse(ctx, all); err != nil {
		return matches{}, err
	}
	s := search{finder: f, matcher: m, internal: in.Package != ""}
	for _, n := range all {
		s.addPackage(n)
	}
	s.addLeftOut(nodes, in)
	return s.answer(in.page, nodes), nil
}

// searched returns the packages to search: the one that is named, or else those of
// the workspace, those that they import, and all of the standard library that can be
// imported.
func searched(ctx context.Context, f lookup.Finder, pkg string) ([]*check.Node, error) {
	if pkg != "" {
		n, err := f.PackageWithFiles(ctx, pkg)
		return []*check.Node{n}, err
	}
	std, err := f.Snapshot.Std(ctx)
	if err != nil {
		return nil, err
	}
	graph, imported := f.Snapshot.Graph, map[string]bool{}
	for _, n := range graph.Nodes {
		if n.Own {
			for _, path := range n.Imports {
				imported[path] = true
			}
		}
	}
	out := graph.Select(func(n *check.Node) bool {
		return n.Own || imported[n.Path] && !n.Std && !gocode.IsInternal(n.Path)
	})
	return append(out, std.Select(func(n *check.Node) bool { return !gocode.IsInternal(n.Path) })...), nil
}

// testsOf returns the packages with the tests of those that are searched.
func testsOf(f lookup.Finder, pkg string, nodes []*check.Node) []*check.Node {
	if pkg == "" {
		return f.Snapshot.Graph.Tests
	}
	var out []*check.Node
	for _, n := range nodes {
		out = append(out, f.Snapshot.Graph.TestsOf(n.Path)...)
	}
	return out
}

// hit is a symbol that matches, with what it is ranked by.
type hit struct {
	declaration source.Declaration
	node        *check.Node
	class       int // of the match
	leftOut     bool
}

// search collects the symbols that match.
type search struct {
	finder   lookup.Finder
	matcher  matcher
	internal bool // unexported names of other modules are searched, too
	hits     []hit
}

func (s *search) add(n *check.Node, d source.Declaration, leftOut bool) {
	if !n.Own && !s.internal && !d.Exported() {
		return
	}
	if class, ok := s.matcher.match(n.Name, d); ok {
		s.hits = append(s.hits, hit{declaration: d, node: n, class: class, leftOut: leftOut})
	}
}

// addPackage adds what a package declares: of one with test files what these declare.
func (s *search) addPackage(n *check.Node) {
	for d := range s.finder.Snapshot.Declarations(n) {
		if n.TestOf == "" || d.InTest() {
			s.add(n, d, false)
		}
	}
}

// addLeftOut adds what the workspace's files declare that build constraints leave out.
func (s *search) addLeftOut(nodes []*check.Node, in aproposIn) {
	byPath := map[string]*check.Node{}
	for _, n := range nodes {
		byPath[n.Path] = n
	}
	for _, left := range s.finder.Snapshot.LeftOut() {
		n := byPath[left.Path]
		if left.Path == "" && in.Package == "" {
			n = &check.Node{Own: true}
		}
		if n == nil {
			continue
		}
		for _, file := range left.Files {
			for _, d := range s.finder.Snapshot.DeclarationsIn(file) {
				if in.included() || !d.InTest() {
					s.add(n, d, true)
				}
			}
		}
	}
}

func (s *search) answer(p page, nodes []*check.Node) matches {
	slices.SortFunc(s.hits, hit.compare)
	out := matches{Matches: []matched{}, Total: len(s.hits), Literal: s.matcher.literal}
	pages := newPager(p, maxMatches)
	for _, h := range s.hits {
		d := h.declaration
		add(pages, &out.Matches, matched{
			Name: d.String(), Kind: d.Kind, Package: h.node.Path, Synopsis: d.Synopsis, LeftOut: h.leftOut,
			Position: s.finder.Snapshot.Root.Position(d.Position, h.node.Path),
		})
	}
	out.rest = pages.rest()
	if len(s.hits) == 0 {
		out.DidYouMean = lookup.Nearest(s.matcher.pattern, s.finder.Names(nodes))
	}
	return out
}

// compare sorts more relevant hits first. Of equally near ones, types and functions
// come before members, and short names before long ones.
func (h hit) compare(other hit) int {
	a, b := h.declaration, other.declaration
	return cmp.Or(
		cmp.Compare(h.class, other.class),
		compareBool(h.leftOut, other.leftOut),
		compareBool(b.Exported(), a.Exported()),
		compareBool(a.InTest(), b.InTest()),
		cmp.Compare(h.node.Distance(), other.node.Distance()),
		compareBool(a.Of != "", b.Of != ""),
		cmp.Compare(len(a.Name), len(b.Name)),
		strings.Compare(a.String(), b.String()),
		strings.Compare(h.node.Path, other.node.Path),
	)
}

// compareBool sorts false before true.
func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}
