package schema

import (
	"encoding/json"
	"maps"
	"slices"
	"unicode/utf8"
	"unsafe"
)

// direct is what a plain node asks, in the form that judges text while it is
// read: no value is made of it, and nothing is allocated. Like plain, it can say
// that a value fits and then is right; whatever it does not expect is left to
// those that have the value, and can say what is wrong.
//
// The reading is the parser's own, so that what is JSON is decided in one place.
type direct struct {
	*plain
	// instead are the nodes of which one has to fit, where the node asks nothing
	// else: its "anyOf", or what its "$ref" leads to.
	instead  []*node
	members  []member // by name; each has the bit of its place
	required uint64   // the members' bits
	item     *node    // nil: any
}

// member is a property that was described.
type member struct {
	name string
	node *node
}

// maxMembers is how many bits there are.
const maxMembers = 64

// directOf is nil where the text alone does not tell, and for what is rare.
func directOf(n *node) *direct {
	p := n.plain
	if p == nil || len(p.allOf) > 0 || n.work.unique || len(n.items) > 1 || len(n.named) > maxMembers {
		return nil
	}
	d := &direct{plain: p}
	if n.ref != nil || p.anyOf != nil {
		if n.asserts() != 1 {
			return nil
		}
		if d.instead = p.anyOf; n.ref != nil {
			d.instead = []*node{n.ref}
		}
		return d
	}
	for _, name := range slices.Sorted(maps.Keys(n.named)) {
		d.members = append(d.members, member{name, n.named[name]})
	}
	for _, name := range p.required {
		i := d.find(name)
		if i < 0 {
			return nil
		}
		d.required |= 1 << i
	}
	if len(n.items) == 1 {
		d.item = n.items[0]
	}
	return d
}

// find is the place of the member of that name; -1: there is none. They are few,
// and looking at each is faster than a map.
func (d *direct) find(name string) int {
	for i := range d.members {
		if d.members[i].name == name {
			return i
		}
	}
	return -1
}

// asserts counts the keywords that can be broken.
func (n *node) asserts() int {
	count := 0
	for name := range n.keys {
		if kw, known := keywords[name]; known && !kw.note && name != "$defs" && name != "definitions" {
			count++
		}
	}
	return count
}

// fitsText reports whether raw is an object that certainly fits the schema.
func (s *Schema) fitsText(raw []byte) bool {
	if len(raw) > maxValues {
		return false // it may have more values
	}
	// The text is looked at in place, and nothing of it is kept.
	p := parser{text: unsafe.String(unsafe.SliceData(raw), len(raw)), levels: maxValueLevels}
	if p.peek() != '{' || !utf8.ValidString(p.text) || !p.fits(s.nodes[0], 0) {
		return false
	}
	p.space()
	return p.pos == len(p.text)
}

// fits reads the next value and reports whether it certainly fits n, where nil
// stands for anything. After false, where it has read to means nothing.
func (p *parser) fits(n *node, level int) bool {
	if n == nil {
		n = unrestricted
	}
	d := n.direct
	if d == nil {
		return false
	}
	if d.instead != nil {
		return p.fitsOne(d.instead, level)
	}
	switch c := p.peek(); c {
	case '{':
		return d.types&objectType != 0 && d.allowed == nil && p.fitsObject(d, level+1)
	case '[':
		return d.types&arrayType != 0 && d.allowed == nil && p.fitsArray(d, level+1)
	case '"':
		s, ok := p.str()
		return ok && d.types&stringType != 0 && d.allowsText(s) && d.text(s)
	case 't':
		_, ok := p.word("true", true)
		return ok && d.types&booleanType != 0 && (d.allowed == nil || d.allows(true))
	case 'f':
		_, ok := p.word("false", false)
		return ok && d.types&booleanType != 0 && (d.allowed == nil || d.allows(false))
	case 'n':
		_, ok := p.word("null", nil)
		return ok && d.types&nullType != 0 && (d.allowed == nil || d.allows(nil))
	case '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
		s, ok := p.literal()
		return ok && (d.allowed == nil || d.allows(json.Number(s))) && d.number(decimalOf(json.Number(s)))
	}
	return false
}

// unrestricted is the schema true.
var unrestricted = newUnrestricted()

func newUnrestricted() *node {
	n := &node{}
	n.plain = plainOf(n, 0, nil)
	n.direct = directOf(n)
	return n
}

// fitsOne reads the next value as often as it takes, which the rate of the schema
// has counted.
func (p *parser) fitsOne(nodes []*node, level int) bool {
	for _, n := range nodes {
		again := *p
		if again.fits(n, level) {
			*p = again
			return true
		}
	}
	return false
}

// fitsObject reads an object that has no members but those that were described.
func (p *parser) fitsObject(d *direct, level int) bool {
	if level > p.levels {
		return false
	}
	p.pos++
	var seen uint64
	count := 0
	for first := true; ; first = false {
		c := p.peek()
		if c == '}' && first {
			break
		}
		if c != '"' {
			return false
		}
		key, ok := p.str()
		i := d.find(key)
		if !ok || i < 0 || seen&(1<<i) != 0 || p.peek() != ':' {
			return false
		}
		seen |= 1 << i
		count++
		p.pos++
		if !p.fits(d.members[i].node, level) {
			return false
		}
		if c = p.peek(); c == '}' {
			break
		}
		if c != ',' {
			return false
		}
		p.pos++
	}
	p.pos++
	return seen&d.required == d.required && d.plain.members.has(count)
}

func (p *parser) fitsArray(d *direct, level int) bool {
	if level > p.levels {
		return false
	}
	p.pos++
	count := 0
	for {
		c := p.peek()
		if c == ']' && count == 0 {
			break
		}
		if !p.fits(d.item, level) {
			return false
		}
		count++
		if c = p.peek(); c == ']' {
			break
		}
		if c != ',' {
			return false
		}
		p.pos++
	}
	p.pos++
	return d.items.has(count)
}

// allowsText is allows for a string that is not in an interface yet.
func (p *plain) allowsText(s string) bool {
	if p.allowed == nil {
		return true
	}
	for _, one := range p.allowed {
		if t, ok := one.(string); ok && t == s {
			return true
		}
	}
	return false
}
