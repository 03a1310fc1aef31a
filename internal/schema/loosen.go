package schema

import (
	"errors"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v5"
)

// errNotShown reports that a keyword is left out of the copy for v5.
var errNotShown = errors.New("the keyword is not judged")

// unjudged notes that a keyword of n is an annotation, because it cannot be judged.
func (b *builder) unjudged(n *node, why error) {
	n.loose = true
	if text := why.Error(); len(b.warnings) < maxWarnings {
		if !strings.HasPrefix(text, "at ") {
			text = n.errorf("%s", text).Error()
		}
		b.warnings = append(b.warnings, text)
	}
}

// loosen takes from the copy the keywords that would refuse a value because a
// subschema of theirs accepts too much: "not", "if", "maxContains", and the
// "one" of "oneOf". What is not judged must not make a valid value invalid.
func (b *builder) loosen() {
	for changed := true; changed; {
		changed = false
		for i := len(b.nodes) - 1; i >= 0; i-- { // a node comes before its children
			n := b.nodes[i]
			if n.ref != nil && n.ref.loose && !n.loose {
				n.loose, changed = true, true
			}
			if p := n.parent; n.loose && p != nil && !p.loose && n.via != "$defs" && n.via != "definitions" {
				p.loose, changed = true, true
			}
		}
	}
	for _, n := range b.nodes {
		if !n.loose || n.parent == nil {
			continue
		}
		shown := n.parent.shown
		switch n.via {
		case "not":
			delete(shown, "not")
		case "if":
			delete(shown, "if")
			delete(shown, "then")
			delete(shown, "else")
		case "contains":
			delete(shown, "maxContains")
		case "oneOf":
			b.loosenOneOf(n.parent)
		}
	}
}

// loosenOneOf makes the "oneOf" of n an "anyOf" next to its other keywords, and
// lets v5's errors find its subschemas there.
func (b *builder) loosenOneOf(n *node) {
	forms, ok := n.shown["oneOf"]
	if !ok {
		return
	}
	delete(n.shown, "oneOf")
	all, _ := n.shown["allOf"].([]any)
	n.shown["allOf"] = append(all[:len(all):len(all)], map[string]any{"anyOf": forms})
	to := n.address + "/allOf/" + strconv.Itoa(len(all))
	b.byAddress[to] = n
	for _, form := range b.nodes {
		if rest, ok := strings.CutPrefix(form.address, n.address+"/oneOf/"); ok {
			b.byAddress[to+"/anyOf/"+rest] = form
		}
	}
}

// neverKeyword is v5's name for an empty enum, which v5 would take for no
// restriction.
const neverKeyword = "toolhost:never"

// never implements the keyword as an extension of v5.
type never struct{}

// Compile implements [jsonschema.ExtCompiler].
func (n never) Compile(_ jsonschema.CompilerContext, keys map[string]any) (jsonschema.ExtSchema, error) {
	if keys[neverKeyword] != true {
		return nil, nil
	}
	return n, nil
}

// Validate implements [jsonschema.ExtSchema].
func (never) Validate(ctx jsonschema.ValidationContext, _ any) error {
	return ctx.Error("enum", "nothing is allowed")
}
