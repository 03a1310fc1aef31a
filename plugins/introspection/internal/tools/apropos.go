package tools

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/plugins/introspection/internal/check"
	"github.com/toolhost/toolhost/plugins/introspection/internal/lookup"
	"github.com/toolhost/toolhost/plugins/introspection/internal/source"
	"github.com/toolhost/toolhost/pluginsdk"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

type aproposIn struct {
	Pattern string `json:"pattern" jsonschema:"regular expression, or part of a name, matched against Name and Type.Member; case matters only after (?-i); a plain http.Client is matched with the package's name"`
	Package string `json:"package,omitempty" jsonschema:"search this package only, its unexported names too: an import path, a directory relative to the workspace (./host) or a package name; default: the workspace, the packages that it imports and the standard library"`
}

// matches is the answer of apropos_search.
type matches struct {
	Matches    []matched `json:"matches" jsonschema:"most relevant first: names equal to the pattern, names that start with it, names with a word that starts with it, names that contain it; exported before unexported; the workspace before its imports before the standard library"`
	Total      int       `json:"total" jsonschema:"how many symbols match; matches has the first 50"`
	Literal    bool      `json:"literal,omitempty" jsonschema:"the pattern is not a valid regular expression and was searched for literally"`
	DidYouMean []string  `json:"did_you_mean,omitempty" jsonschema:"if nothing matches: similar names"`
}

type matched struct {
	Name     string `json:"name" jsonschema:"the name in its package, Type.Member for a method or field"`
	Kind     string `json:"kind" jsonschema:"func, method, type, var, const or field"`
	Package  string `json:"package" jsonschema:"import path"`
	Synopsis string `json:"synopsis,omitempty"`
	Position string `json:"position" jsonschema:"path:line:col relative to the workspace; outside of it import/path/file.go:line"`
}

// maxMatches bounds an answer. A pattern with more matches needs to be narrowed.
const maxMatches = 50

func aproposSearch(w *check.Workspace) tool.Tool {
	return define(w, "apropos_search",
		"Finds Go symbols by a part of their name or a regular expression, each with kind, package, position and "+
			"one line of documentation, most relevant first. Use it when you do not know a symbol's exact name or "+
			"package; describe_symbol tells more about a symbol that you know.",
		apropos, pluginsdk.Title("Find Go symbols by name"), pluginsdk.Categories("introspection"),
		pluginsdk.Argument("pattern", nameLimit), pluginsdk.Argument("package", nameLimit))
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
	if err := f.Snapshot.Parse(ctx, nodes); err != nil {
		return matches{}, err
	}
	return search(f, m, nodes, in.Package != ""), nil
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
		return n.Own || imported[n.Path] && !n.Std && !check.IsInternal(n.Path)
	})
	return append(out, std.Select(func(n *check.Node) bool { return !check.IsInternal(n.Path) })...), nil
}

// hit is a symbol that matches, with what it is ranked by.
type hit struct {
	declaration source.Declaration
	node        *check.Node
	class       int // of the match
}

func search(f lookup.Finder, m matcher, nodes []*check.Node, internal bool) matches {
	var hits []hit
	for _, n := range nodes {
		for d := range f.Snapshot.Declarations(n) {
			if !n.Own && !internal && !d.Exported() {
				continue
			}
			if class, ok := m.match(n.Name, d); ok {
				hits = append(hits, hit{declaration: d, node: n, class: class})
			}
		}
	}
	slices.SortFunc(hits, hit.compare)
	out := matches{Matches: []matched{}, Total: len(hits), Literal: m.literal}
	for _, h := range hits[:min(len(hits), maxMatches)] {
		d := h.declaration
		out.Matches = append(out.Matches, matched{
			Name: d.String(), Kind: d.Kind, Package: h.node.Path, Synopsis: d.Synopsis,
			Position: f.Snapshot.Root.Position(d.Position, h.node.Path),
		})
	}
	if len(hits) == 0 {
		out.DidYouMean = lookup.Nearest(m.pattern, f.Names(nodes))
	}
	return out
}

// compare sorts more relevant hits first. Of equally near ones, types and functions
// come before members, and short names before long ones.
func (h hit) compare(other hit) int {
	a, b := h.declaration, other.declaration
	return cmp.Or(
		cmp.Compare(h.class, other.class),
		compareBool(b.Exported(), a.Exported()),
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
