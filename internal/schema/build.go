package schema

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/toolhost/toolhost/internal/jsontree"
)

// base is the address under which v5 knows the schema. It is short because v5
// repeats it in every location.
const base = "s:///s"

// builder splits a schema into nodes and makes the copy that v5 compiles.
type builder struct {
	draft     int
	nodes     []*node
	byAddress map[string]*node
	addresses int // bytes
	patterns  map[string]pattern
	program   int // instructions of all patterns
	warnings  []string
	parsing   int // steps to parse them
}

// build finds all subschemas of doc and checks that each is well-formed and
// small enough. The copy has only the keywords that v5 must evaluate. If build
// fails, the builder still has the cost so far.
func build(doc any) (*builder, any, error) {
	b := &builder{byAddress: map[string]*node{}, patterns: map[string]pattern{}}
	var err error
	keys, _ := doc.(map[string]any)
	if b.draft, err = readDraft(keys); err != nil {
		return b, nil, err
	}
	shown, err := b.visit(doc, nil, "", "#")
	if err != nil {
		return b, nil, err
	}
	if err := b.resolve(); err != nil {
		return b, nil, err
	}
	b.loosen()
	if address, ok := keys["$schema"]; ok {
		b.nodes[0].shown["$schema"] = address
	}
	return b, shown, nil
}

// cost returns what compiling the schema takes from a [Budget], besides its
// text.
func (b *builder) cost() int { return len(b.nodes) + b.program/costProgram + b.parsing/costParsing }

func readDraft(keys map[string]any) (int, error) {
	v, ok := keys["$schema"]
	if !ok {
		return jsontree.Draft2020, nil
	}
	name, _ := v.(string)
	draft, ok := jsontree.DraftOf(name)
	if !ok {
		return 0, fmt.Errorf(
			"unknown $schema %s; use https://json-schema.org/draft/2020-12/schema or leave it out", show(v))
	}
	return draft, nil
}

// visit makes a node of one subschema and returns the copy of the subschema.
func (b *builder) visit(doc any, parent *node, via, address string) (any, error) {
	n := &node{id: len(b.nodes), address: address, via: via, parent: parent}
	b.nodes = append(b.nodes, n)
	b.byAddress[address] = n
	if len(b.nodes) > maxSubschemas {
		return nil, fmt.Errorf("more than %d subschemas", maxSubschemas)
	}
	if b.addresses += len(address); len(address) > maxAddressBytes || b.addresses > maxAllAddressBytes {
		return nil, fmt.Errorf("at %s: the names above the subschemas are too long", cut(address, maxProblemLength))
	}
	n.work.lookUps, n.work.steps = 1, 1+2*len(address)/stepText
	if parent != nil {
		n.work.segment = len(address) - len(parent.address)
	}
	switch doc := doc.(type) {
	case bool:
		if b.draft == jsontree.Draft04 && via != "additionalProperties" && via != "additionalItems" {
			return nil, n.errorf("draft-04 has no boolean schemas")
		}
		n.never = !doc
		return doc, nil
	case map[string]any:
		n.keys = doc
		return b.object(n)
	}
	return nil, n.errorf("a schema must be an object or a boolean, not %s", article(typeName(doc)))
}

// errorf returns an error that names the address of the node.
func (n *node) errorf(format string, args ...any) error {
	return fmt.Errorf("at %s: %s", cut(n.address, maxProblemLength), fmt.Sprintf(format, args...))
}

func (b *builder) object(n *node) (any, error) {
	if err := b.identity(n); err != nil {
		return nil, err
	}
	shown := make(map[string]any, len(n.keys))
	n.shown = shown
	for _, name := range slices.Sorted(maps.Keys(n.keys)) {
		kw, known := jsontree.Keywords[name]
		if !known {
			continue // an unknown keyword is an annotation
		}
		if kw.Refused != "" {
			return nil, n.errorf("%s is refused: %s", name, kw.Refused)
		}
		v, err := b.keyword(n, name, kw)
		if errors.Is(err, errNotShown) {
			continue
		}
		if err != nil {
			return nil, err
		}
		switch {
		case kw.Annotation:
		case name == "enum" && len(v.([]any)) == 0:
			shown[neverKeyword] = true
		case name == "uniqueItems":
			shown[uniqueKeyword] = v
		default:
			shown[name] = v
		}
	}
	return shown, nil
}

// identity refuses an identifier that would change what "#" means below it. At
// the root it changes nothing, as every reference is local.
func (b *builder) identity(n *node) error {
	if n.parent == nil {
		return nil
	}
	if _, ok := n.keys["$id"]; ok {
		return n.errorf("$id is refused below the root")
	}
	if _, ok := n.keys["id"].(string); ok && b.draft == jsontree.Draft04 {
		return n.errorf("id is refused below the root")
	}
	return nil
}

// keyword checks the value of one keyword and returns its copy.
//
// All keywords must be well-formed in every draft, though v5 decides whether one applies: it
// answers a malformed schema with errors that can be a thousand times larger.
func (b *builder) keyword(n *node, name string, kw jsontree.Keyword) (any, error) {
	v := n.keys[name]
	switch kw.Shape {
	case jsontree.OneSchema:
		return b.child(n, name, "", name, v)
	case jsontree.ManySchemas:
		return b.children(n, name, v)
	case jsontree.ItemSchemas:
		if _, ok := v.([]any); !ok {
			return b.child(n, name, "", name, v)
		}
		if b.draft == jsontree.Draft2020 {
			return nil, n.errorf("items must be one schema in draft 2020-12; use prefixItems")
		}
		return b.children(n, name, v)
	case jsontree.NamedSchemas, jsontree.NamedEither:
		return b.members(n, name, v, kw.Shape == jsontree.NamedEither)
	}
	return b.assertion(n, name, kw, v)
}

// child visits the subschema v of n; path is its address relative to n.
func (b *builder) child(n *node, via, name, path string, v any) (any, error) {
	var p pattern
	if via == "patternProperties" {
		var err error
		if p, err = b.pattern(name); err != nil {
			return nil, fmt.Errorf("at %s: %w", cut(n.address, maxProblemLength), err)
		}
	}
	next := len(b.nodes)
	shown, err := b.visit(v, n, via, n.address+"/"+path)
	if err != nil {
		return nil, err
	}
	n.attach(b.nodes[next], name, p)
	return shown, nil
}

func (b *builder) children(n *node, name string, v any) (any, error) {
	list, ok := v.([]any)
	if !ok || len(list) == 0 {
		return nil, n.errorf("%s must be an array of schemas, not empty", name)
	}
	shown := make([]any, len(list))
	for i, item := range list {
		var err error
		if shown[i], err = b.child(n, name, "", name+"/"+strconv.Itoa(i), item); err != nil {
			return nil, err
		}
	}
	return shown, nil
}

func (b *builder) members(n *node, name string, v any, lists bool) (any, error) {
	m, ok := v.(map[string]any)
	if !ok {
		return nil, n.errorf("%s must be an object of schemas", name)
	}
	n.work.lookUps += len(m) / stepLookUps
	n.work.steps += len(m) / stepLookUps
	shown := make(map[string]any, len(m))
	for _, key := range slices.Sorted(maps.Keys(m)) {
		if list, ok := m[key].([]any); ok && lists {
			if !isNames(list) {
				return nil, n.errorf("%s must have schemas or arrays of different names", name)
			}
			n.work.steps += len(list) + textSize(list)/stepText
			shown[key] = list
			continue
		}
		child, err := b.child(n, name, key, name+"/"+jsontree.Escape(key), m[key])
		if errors.Is(err, errDialect) {
			// Any name may match, so none is left to the keywords for the others.
			b.unjudged(n, err)
			if _, ok := shown[""]; !ok {
				shown[""] = map[string]any{}
			}
			continue
		}
		if err != nil {
			return nil, err
		}
		shown[key] = child
	}
	return shown, nil
}

// resolve finds the targets of all references.
func (b *builder) resolve() error {
	for _, n := range b.nodes {
		if n.refAddress == "" {
			continue
		}
		if n.ref = b.byAddress[n.refAddress]; n.ref == nil {
			return n.errorf("$ref %s does not resolve to a schema", quote(n.keys["$ref"].(string)))
		}
	}
	return nil
}
