package schema

import (
	"encoding/json"
	"math"
	"unicode/utf8"

	"github.com/santhosh-tekuri/jsonschema/v5"
)

// plain is what a node asks, where it has only the keywords that nearly every
// tool's arguments are described with. It can say that a value fits and then is
// right; that one does not fit it leaves to v5 to say. So it may be stricter
// than the draft, never laxer, and v5 is asked about few calls at all.
type plain struct {
	node  *node
	types typeSet

	length, items, members span
	least, most            *edge
	pattern                *pattern
	allowed                []any // scalars; nil: all
	required               []string
	anyOf                  []*node
	allOf                  []*node
}

// typeSet has a bit for each JSON type.
type typeSet uint8

const (
	nullType typeSet = 1 << iota
	booleanType
	integerType
	fractionType // a number that is no integer
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

// edge is a limit of numbers, which may be within or without.
type edge struct {
	at    decimal
	exact bool // the limit itself is allowed
}

// plainOf is nil for a node with other keywords.
func plainOf(n *node, draft int, patterns map[string]pattern) *plain {
	full := span{0, math.MaxInt}
	p := &plain{node: n, types: anyType, length: full, items: full, members: full}
	if n.keys == nil {
		if n.never {
			p.types = 0
		}
		return p
	}
	for name, v := range n.keys {
		if kw, known := keywords[name]; !known || kw.note {
			continue
		}
		if !p.take(name, v, draft, patterns) {
			return nil
		}
	}
	return p
}

// take adds a keyword, if it is one of the plain ones.
func (p *plain) take(name string, v any, draft int, patterns map[string]pattern) bool {
	switch name {
	case "type":
		p.types = 0
		if one, ok := v.(string); ok {
			p.types = typeSets[one]
		}
		several, _ := v.([]any)
		for _, one := range several {
			p.types |= typeSets[one.(string)]
		}
	case "properties", "additionalProperties", "uniqueItems", "$ref", "$defs", "definitions":
		// the node has them ready
	case "items":
		return len(p.node.prefix) == 0
	case "required":
		for _, name := range v.([]any) {
			p.required = append(p.required, name.(string))
		}
	case "enum", "const":
		if p.allowed != nil {
			return false
		}
		p.allowed, _ = v.([]any)
		if name == "const" {
			p.allowed = []any{v}
		}
		for _, one := range p.allowed {
			if is[[]any](one) || is[map[string]any](one) {
				return false
			}
		}
	case "minLength":
		p.length.min = toInt(v)
	case "maxLength":
		p.length.max = toInt(v)
	case "minItems":
		p.items.min = toInt(v)
	case "maxItems":
		p.items.max = toInt(v)
	case "minProperties":
		p.members.min = toInt(v)
	case "maxProperties":
		p.members.max = toInt(v)
	case "pattern":
		pattern := patterns[v.(string)]
		p.pattern = &pattern
	case "minimum", "exclusiveMinimum":
		return draft != draft04 && p.least == nil && setEdge(&p.least, v, name == "minimum")
	case "maximum", "exclusiveMaximum":
		return draft != draft04 && p.most == nil && setEdge(&p.most, v, name == "maximum")
	case "format":
		_, judged := jsonschema.Formats[v.(string)]
		return !judged
	case "allOf":
		p.allOf = p.node.below("allOf")
	case "anyOf":
		p.anyOf = p.node.below("anyOf")
	default:
		return false
	}
	return true
}

func setEdge(e **edge, v any, exact bool) bool {
	*e = &edge{at: decimalOf(v.(json.Number)), exact: exact}
	return true
}

// toInt is a count, as far as it matters: no value is larger than maxInteger.
func toInt(v any) int {
	f, err := v.(json.Number).Float64()
	if err != nil || f > maxInteger {
		return maxInteger
	}
	return int(f)
}

// below are the nodes that one keyword of n applies to the same value.
func (n *node) below(via string) []*node {
	var all []*node
	for _, t := range n.inPlace {
		if t.via == via {
			all = append(all, t)
		}
	}
	return all
}

// fits reports whether v certainly fits n. Of a task that has ended, nothing is
// certain.
func (n *node) fits(v any, t *task) bool {
	p := n.plain
	if p == nil || t.ended(1) || p.allowed != nil && !p.allows(v) {
		return false
	}
	for _, of := range p.allOf {
		if !of.fits(v, t) {
			return false
		}
	}
	if n.ref != nil && !n.ref.fits(v, t) || p.anyOf != nil && !anyFits(p.anyOf, v, t) {
		return false
	}
	switch v := v.(type) {
	case string:
		return p.types&stringType != 0 && p.text(v) && !t.ended(n.work.program*len(v)/programLook)
	case bool:
		return p.types&booleanType != 0
	case nil:
		return p.types&nullType != 0
	case json.Number:
		return p.number(decimalOf(v))
	case []any:
		return p.types&arrayType != 0 && p.array(v, t)
	case map[string]any:
		return p.types&objectType != 0 && p.object(v, t)
	}
	return false
}

// programLook is how many instructions of patterns are as much work as one evaluation.
const programLook = 4

func anyFits(nodes []*node, v any, t *task) bool {
	for _, n := range nodes {
		if n.fits(v, t) {
			return true
		}
	}
	return false
}

func (p *plain) allows(v any) bool {
	for _, one := range p.allowed {
		a, ok := v.(json.Number)
		b, number := one.(json.Number)
		if ok && number && decimalOf(a) == decimalOf(b) || !ok && !number && scalar(v) && v == one {
			return true
		}
	}
	return false
}

// scalar reports whether v can be compared: maps and slices cannot.
func scalar(v any) bool { return !is[[]any](v) && !is[map[string]any](v) }

func (p *plain) text(s string) bool {
	if p.length.min > 0 || p.length.max < len(s) { // there are no more characters than bytes
		if !p.length.has(utf8.RuneCountInString(s)) {
			return false
		}
	}
	return p.pattern == nil || p.pattern.re.MatchString(s)
}

func (p *plain) number(d decimal) bool {
	kind := fractionType
	if d.integral() {
		kind = integerType
	}
	return p.types&kind != 0 &&
		(p.least == nil || p.least.holds(d.compare(p.least.at))) &&
		(p.most == nil || p.most.holds(p.most.at.compare(d)))
}

func (e *edge) holds(order int) bool { return order > 0 || order == 0 && e.exact }

func (p *plain) array(items []any, t *task) bool {
	if !p.items.has(len(items)) {
		return false
	}
	for _, item := range items {
		for _, n := range p.node.items {
			if !n.fits(item, t) {
				return false
			}
		}
	}
	if p.node.work.unique {
		_, _, twice := repeated(items, t)
		return !twice && !t.ended(0)
	}
	return true
}

func (p *plain) object(members map[string]any, t *task) bool {
	if !p.members.has(len(members)) {
		return false
	}
	for _, name := range p.required {
		if _, ok := members[name]; !ok {
			return false
		}
	}
	for name, v := range members {
		if n := p.node.named[name]; n != nil {
			if !n.fits(v, t) {
				return false
			}
			continue
		}
		for _, n := range p.node.others {
			if !n.fits(v, t) {
				return false
			}
		}
	}
	return true
}
