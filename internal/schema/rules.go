package schema

import (
	"encoding/json"
	"maps"
	"math"
	"slices"
	"unicode/utf8"

	"github.com/santhosh-tekuri/jsonschema/v5"

	"github.com/toolhost/toolhost/internal/jsontree"
)

// rules are the requirements of a node that has only the most common keywords,
// in a form that can be checked while the text is read. They may be stricter
// than the draft but never laxer: a value that breaks them is left to v5.
type rules struct {
	types                  typeSet
	length, items, members span
	least, most            *numberLimit
	pattern                pattern
	allowed                []any // scalars; nil: all

	// anyOf lists nodes of which one must match, if the node has no other
	// keyword: the forms of "anyOf", or the target of "$ref".
	anyOf []*node

	properties []property // sorted by name; the index is the bit in required
	required   uint64     // bits of the properties
	other      *node      // for all other members; nil: any value
	name       *node      // for the names of all members; nil: any name
	item       *node      // nil: any value
}

// property is a property that the schema describes.
type property struct {
	name string
	node *node
}

// maxProperties is the number of bits in required.
const maxProperties = 64

// typeSet has one bit for each JSON type.
type typeSet uint8

const (
	nullType typeSet = 1 << iota
	booleanType
	integerType
	fractionType // a number that is not an integer
	stringType
	arrayType
	objectType
	anyType typeSet = 1<<iota - 1
)

var typeSets = map[string]typeSet{
	"null": nullType, "boolean": booleanType, "integer": integerType, "number": integerType | fractionType,
	"string": stringType, "array": arrayType, "object": objectType,
}

// span is a range of sizes.
type span struct{ min, max int }

func (s span) has(n int) bool { return s.min <= n && n <= s.max }

// numberLimit is a limit of a number.
type numberLimit struct {
	at    decimal
	exact bool // the limit itself is allowed
}

func (e *numberLimit) holds(order int) bool { return order > 0 || order == 0 && e.exact }

// rulesOf returns the node's rules, or nil if only v5 can evaluate it.
func rulesOf(n *node, draft int, patterns map[string]pattern) *rules {
	full := span{0, math.MaxInt}
	r := &rules{types: anyType, length: full, items: full, members: full}
	if n.never {
		r.types = 0
	}
	asserts := 0
	for name, v := range n.keys {
		kw, known := jsontree.Keywords[name]
		if !known || kw.Annotation || name == "$defs" || name == "definitions" {
			continue
		}
		asserts++
		if !r.add(n, name, v, draft, patterns) {
			return nil
		}
	}
	if r.anyOf != nil && asserts > 1 || !r.describe(n) {
		return nil
	}
	return r
}

// add adds a keyword and reports whether the text judge supports it.
func (r *rules) add(n *node, name string, v any, draft int, patterns map[string]pattern) bool {
	switch name {
	case "type":
		r.types = 0
		if one, ok := v.(string); ok {
			r.types = typeSets[one]
		}
		several, _ := v.([]any)
		for _, one := range several {
			r.types |= typeSets[one.(string)]
		}
	case "properties", "required", "additionalProperties", "propertyNames", "items":
		// see describe
	case "uniqueItems":
		return !n.work.unique
	case "enum", "const":
		if r.allowed != nil {
			return false
		}
		r.allowed, _ = v.([]any)
		if name == "const" {
			r.allowed = []any{v}
		}
		return !slices.ContainsFunc(r.allowed, func(one any) bool { return is[[]any](one) || is[map[string]any](one) })
	case "minLength":
		r.length.min = toInt(v)
	case "maxLength":
		r.length.max = toInt(v)
	case "minItems":
		r.items.min = toInt(v)
	case "maxItems":
		r.items.max = toInt(v)
	case "minProperties":
		r.members.min = toInt(v)
	case "maxProperties":
		r.members.max = toInt(v)
	case "pattern":
		r.pattern = patterns[v.(string)]
	case "minimum", "exclusiveMinimum":
		return draft != jsontree.Draft04 && setNumberLimit(&r.least, v, name == "minimum")
	case "maximum", "exclusiveMaximum":
		return draft != jsontree.Draft04 && setNumberLimit(&r.most, v, name == "maximum")
	case "format":
		_, judged := jsonschema.Formats[v.(string)]
		return !judged
	case "anyOf":
		r.anyOf = n.inPlace
	case "$ref":
		r.anyOf = []*node{n.ref}
	default:
		return false
	}
	return true
}

// describe adds the rules for members and items.
func (r *rules) describe(n *node) bool {
	if len(n.named) > maxProperties || len(n.prefix) > 0 {
		return false
	}
	for _, name := range slices.Sorted(maps.Keys(n.named)) {
		r.properties = append(r.properties, property{name, n.named[name]})
	}
	names, _ := n.keys["required"].([]any)
	for _, name := range names {
		i := r.find(name.(string))
		if i < 0 {
			return false
		}
		r.required |= 1 << i
	}
	if len(n.others) > 0 {
		r.other = n.others[0]
	}
	if len(n.names) > 0 {
		r.name = n.names[0]
	}
	if len(n.items) > 0 {
		r.item = n.items[0]
	}
	return true
}

// find returns the index of the property of that name, or -1. It searches
// linearly, which is faster than a map for so few properties.
func (r *rules) find(name string) int {
	for i := range r.properties {
		if r.properties[i].name == name {
			return i
		}
	}
	return -1
}

// setNumberLimit sets a limit and reports whether there was none before.
func setNumberLimit(e **numberLimit, v any, exact bool) bool {
	if *e != nil {
		return false
	}
	*e = &numberLimit{at: decimalOf(v.(json.Number)), exact: exact}
	return true
}

// toInt returns a count, capped at maxInteger: no value is larger.
func toInt(v any) int {
	f, err := v.(json.Number).Float64()
	if err != nil || f > maxInteger {
		return maxInteger
	}
	return int(f)
}

// allow reports whether a value other than a string is allowed.
func (r *rules) allow(v any) bool {
	return r.allowed == nil || slices.ContainsFunc(r.allowed, func(one any) bool {
		a, ok := v.(json.Number)
		b, number := one.(json.Number)
		return ok && number && decimalOf(a) == decimalOf(b) || !ok && !number && v == one
	})
}

// allowText is allow for a string, without converting it to an interface.
func (r *rules) allowText(s string) bool {
	return r.allowed == nil || slices.ContainsFunc(r.allowed, func(one any) bool {
		t, ok := one.(string)
		return ok && t == s
	})
}

func (r *rules) text(s string) bool {
	if r.length.min > 0 || r.length.max < len(s) { // a string does not have more characters than bytes
		if !r.length.has(utf8.RuneCountInString(s)) {
			return false
		}
	}
	return r.pattern.re == nil || r.pattern.re.MatchString(s)
}

func (r *rules) number(d decimal) bool {
	kind := fractionType
	if d.integral() {
		kind = integerType
	}
	return r.types&kind != 0 &&
		(r.least == nil || r.least.holds(d.compare(r.least.at))) &&
		(r.most == nil || r.most.holds(r.most.at.compare(d)))
}
