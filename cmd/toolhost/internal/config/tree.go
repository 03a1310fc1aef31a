package config

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"

	"github.com/toolhost/toolhost/internal/sanitize"
	"github.com/toolhost/toolhost/internal/setting"
)

// Bounds of a file. The package comment has the reason.
const (
	maxLines  = 20_000
	maxTokens = 20_000
	maxLevels = 64
	maxNodes  = 50_000 // with aliases followed
)

type kind string

// The kinds of values, as problems name them.
const (
	null    kind = "nothing"
	boolean kind = "true or false"
	number  kind = "a number"
	text    kind = "text"
	list    kind = "a list"
	mapping kind = "a mapping"
)

// node is a value of the file.
type node struct {
	kind    kind
	text    string // of a scalar, as written, without quotes
	items   []*node
	entries []entry
	at      place
	size    int // nodes, with aliases followed
}

// entry is one key of a mapping and its value.
type entry struct{ key, value *node }

// json returns a tree as JSON. Its keys are sorted, so that the order of a file's lines
// makes no difference. A number that JSON cannot say is text.
func (n *node) json() json.RawMessage { return must(json.Marshal(n.plain())) }

func (n *node) plain() any {
	switch {
	case n.kind == null:
		return nil
	case n.kind == boolean, n.kind == number && plainNumber(n.text):
		return json.RawMessage(n.text)
	case n.kind == list:
		out := make([]any, len(n.items))
		for i, one := range n.items {
			out[i] = one.plain()
		}
		return out
	case n.kind == mapping:
		out := make(map[string]any, len(n.entries))
		for _, e := range n.entries {
			out[e.key.text] = e.value.plain()
		}
		return out
	}
	return n.text
}

// grower turns what the library has parsed into nodes.
type grower struct {
	*findings
	anchors map[string]*node
	left    int  // how many more nodes may be made
	full    bool // a limit was passed and noted; the rest is not looked at
}

// grow makes a node; nil: a problem was noted. Parent is the place of a value that has no
// text.
func (g *grower) grow(from ast.Node, parent place, level int) *node {
	if from == nil {
		return &node{kind: null, at: parent, size: 1}
	}
	at := placeOf(from.GetToken())
	if g.left--; level > maxLevels || g.left < 0 {
		return g.stop(at, "the file is nested deeper than %d levels", maxLevels)
	}
	n := &node{at: at, size: 1}
	switch v := from.(type) {
	case *ast.NullNode:
		n.kind, n.text, n.at = null, v.GetToken().Value, parent
	case *ast.BoolNode:
		n.kind, n.text = boolean, strconv.FormatBool(v.Value)
	case *ast.IntegerNode, *ast.FloatNode, *ast.InfinityNode, *ast.NanNode:
		n.kind, n.text = number, from.GetToken().Value
	case *ast.StringNode:
		n.kind, n.text = text, v.Value
		if v.Token.Type == token.StringType && setting.Matches(jsonNumber, v.Value) {
			n.kind = number // such as 1e3, which the library takes for text
		}
	case *ast.LiteralNode:
		n.kind, n.text = text, v.Value.Value
	case *ast.SequenceNode:
		return g.growList(n, v, level)
	case *ast.MappingNode:
		if !v.IsFlowStyle && len(v.Values) > 0 {
			n.at = placeOf(v.Values[0].Key.GetToken()) // the library says where the colon is
		}
		return g.growMapping(n, v.Values, level)
	case *ast.MappingValueNode:
		n.at = placeOf(v.Key.GetToken())
		return g.growMapping(n, []*ast.MappingValueNode{v}, level)
	case *ast.AnchorNode:
		value := g.grow(v.Value, at, level)
		if value != nil && v.Name != nil {
			g.anchors[v.Name.GetToken().Value] = value
		}
		return value
	case *ast.AliasNode:
		return g.follow(v, at)
	case *ast.TagNode:
		hint := "remove it; quote the value if it is meant to be text"
		g.add(at, "", hint, "tags such as %s are not read", sanitize.Line(v.GetToken().Value, 40))
		return nil
	default:
		g.add(at, "", "write it plainly", "this form of YAML is not read")
		return nil
	}
	if !utf8.ValidString(n.text) {
		g.add(at, "", "write the characters themselves", "the text has an escape that is not a character")
		return nil
	}
	return n
}

// stop notes the first limit that is passed.
func (g *grower) stop(at place, format string, limit int) *node {
	if !g.full {
		g.full = true
		g.add(at, "", "make it simpler", format, limit)
	}
	return nil
}

// follow returns the value that an alias stands for. An anchor becomes known when its value
// is complete, so no value can contain itself.
func (g *grower) follow(v *ast.AliasNode, at place) *node {
	name := ""
	if v.Value != nil {
		name = v.Value.GetToken().Value
	}
	target := g.anchors[name]
	if target == nil {
		name = sanitize.Line(name, 40)
		g.add(at, "", "quote it if it is meant to be text, or write &"+name+" in front of the value, further up", "there is no anchor for *%s", name)
		return nil
	}
	if g.left -= target.size; g.left < 0 {
		return g.stop(at, "with its aliases followed, the file has more than %d values", maxNodes)
	}
	n := *target
	n.at = at
	return &n
}

func (g *grower) growList(n *node, v *ast.SequenceNode, level int) *node {
	n.kind = list
	for _, item := range v.Values {
		child := g.grow(item, n.at, level+1)
		if child == nil {
			continue
		}
		n.items = append(n.items, child)
		n.size += child.size
	}
	if len(n.items) == 0 && len(v.Values) > 0 {
		return nil // what is wrong with its items is said
	}
	return n
}

func (g *grower) growMapping(n *node, values []*ast.MappingValueNode, level int) *node {
	n.kind = mapping
	first := make(map[string]place, len(values))
	for _, value := range values {
		key := g.growKey(value.Key)
		if key == nil {
			continue
		}
		if at, twice := first[key.text]; twice {
			g.addKey(key, "", "keep one of them", "the key `%s` is there twice, first on line %d", shown(key.text), at.line)
			continue
		}
		first[key.text] = key.at
		child := g.grow(value.Value, key.at, level+1)
		if child == nil {
			continue
		}
		n.entries = append(n.entries, entry{key, child})
		n.size += 1 + child.size
	}
	slices.SortStableFunc(n.entries, func(a, b entry) int {
		return cmp.Or(cmp.Compare(a.key.at.line, b.key.at.line), cmp.Compare(a.key.at.column, b.key.at.column))
	})
	return n
}

func (g *grower) growKey(key ast.MapKeyNode) *node {
	switch v := key.(type) {
	case nil:
		return nil
	case *ast.MergeKeyNode:
		hint := "write the settings out, or put them under defaults"
		g.add(placeOf(v.GetToken()), "", hint, "merge keys (<<) are not read")
		return nil
	case *ast.StringNode, *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.NullNode,
		*ast.InfinityNode, *ast.NanNode:
		n := &node{kind: text, text: v.GetToken().Value, at: placeOf(v.GetToken()), size: 1}
		if s, ok := v.(*ast.StringNode); ok {
			n.text = s.Value
		}
		if !utf8.ValidString(n.text) {
			g.add(n.at, "", "write the characters themselves", "the key has an escape that is not a character")
			return nil
		}
		return n
	}
	g.add(placeOf(key.GetToken()), "", "write key: value", "keys of this form are not read")
	return nil
}

// jsonNumber is the pattern of numbers as JSON writes them, which all programs read alike.
const jsonNumber = `^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]{1,3})?$`

// maxDigits bounds a number, in characters.
const maxDigits = 100

// plainNumber reports whether all programs read a number alike.
func plainNumber(s string) bool { return len(s) <= maxDigits && setting.Matches(jsonNumber, s) }

func shown(s string) string { return sanitize.Line(s, 60) }
