package schema

import (
	"regexp"

	"github.com/toolhost/toolhost/internal/jsontree"
)

// node is one subschema, with its keywords, the nodes it applies, and its cost.
type node struct {
	id int
	// address is the JSON pointer after "#", escaped as v5 escapes it.
	address string
	// via is the keyword of parent that holds the node; "" for the root.
	via    string
	parent *node
	// keys is the original schema; nil for true and false.
	keys  map[string]any
	never bool // the schema false
	// shown is the copy for v5; nil for true and false.
	shown map[string]any
	// loose reports that the copy may accept more than the schema.
	loose bool

	// Applied to the same value.
	inPlace []*node
	ref     *node
	// refAddress is the address of ref; "" without a reference.
	refAddress string
	// Applied to the members of an object.
	named    map[string]*node
	patterns []patternNode
	others   []*node // for members that are not in named
	names    []*node // for the names
	// Judged on the items of an array.
	prefix   []*node
	items    []*node // for items after the prefix
	contains []*node

	work  work
	rules *rules // nil: only v5 can evaluate the node
}

// patternNode is a subschema for the members whose names match a pattern.
type patternNode struct {
	pattern pattern
	node    *node
}

// work is the cost of evaluating one value by a node, without the nodes that it
// applies, in the units of the meter.
type work struct {
	lookUps int // cost in the text judge
	steps   int // cost in v5
	program int // instructions of its pattern, which run for each byte
	segment int // bytes that the node's path adds to v5's locations
	unique  bool
	quotes  bool // an error quotes the whole text
	regex   bool // text is parsed as a regular expression
}

// pattern is a regular expression that is small enough.
type pattern struct {
	re      *regexp.Regexp
	program int
}

// attach adds child to the nodes that n applies. The name is the member's, for
// keywords that hold schemas by name.
func (n *node) attach(child *node, name string, p pattern) {
	if jsontree.Keywords[child.via].Place == jsontree.InPlace {
		n.inPlace = append(n.inPlace, child)
		return
	}
	switch child.via {
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
