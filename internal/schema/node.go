package schema

import "regexp"

// node is one subschema: what it says, what it leads to, what it costs.
type node struct {
	id int
	// address is the JSON pointer behind "#", escaped as v5 escapes it.
	address string
	// via is the keyword of parent that holds the node; "" for the root.
	via    string
	parent *node
	// keys is the schema as it was written; nil for true and false.
	keys  map[string]any
	never bool // false

	// Judged on the same value.
	inPlace []*node
	ref     *node
	// refAddress is where ref is; "" where there is none.
	refAddress string
	// Judged on the members of an object.
	named    map[string]*node
	patterns []patternNode
	others   []*node // for the members that named does not have
	names    []*node // for the names
	// Judged on the items of an array.
	prefix   []*node
	items    []*node // behind the prefix
	contains []*node

	work  work
	rules *rules // nil: only v5 can judge
}

// patternNode is a subschema for the members whose names match.
type patternNode struct {
	pattern pattern
	node    *node
}

// work is what judging one value by a node costs, without the nodes that it
// leads to, in the units of the meter.
type work struct {
	lookUps int // for a text judge
	steps   int // for v5
	program int // instructions of its pattern, which run for each byte
	segment int // bytes that the way to the node adds to v5's locations
	unique  bool
	quotes  bool // an error quotes the whole text
	regex   bool // a text is parsed as a regular expression
}

// pattern is a regular expression that has been found small enough.
type pattern struct {
	re      *regexp.Regexp
	program int
}

// attach makes child part of what n leads to. The name is the member's, for
// keywords that have named schemas.
func (n *node) attach(child *node, name string, p pattern) {
	switch child.via {
	case "not", "if", "then", "else", "allOf", "anyOf", "oneOf", "dependentSchemas", "dependencies":
		n.inPlace = append(n.inPlace, child)
	case "properties":
		if n.named == nil {
			n.named = map[string]*node{}
		}
		n.named[name] = child
	case "patternProperties":
		n.patterns = append(n.patterns, patternNode{p, child})
	case "additionalProperties":
		n.others = append(n.others, child)
	case "unevaluatedProperties":
		if _, all := n.keys["additionalProperties"]; !all {
			n.others = append(n.others, child)
		}
	case "propertyNames":
		n.names = append(n.names, child)
	case "prefixItems":
		n.prefix = append(n.prefix, child)
	case "items":
		if is[[]any](n.keys["items"]) {
			n.prefix = append(n.prefix, child)
			return
		}
		n.items = append(n.items, child)
	case "additionalItems":
		if is[[]any](n.keys["items"]) {
			n.items = append(n.items, child)
		}
	case "unevaluatedItems":
		if items, ok := n.keys["items"]; !ok || is[[]any](items) {
			n.items = append(n.items, child)
		}
	case "contains":
		n.contains = append(n.contains, child)
	}
}
