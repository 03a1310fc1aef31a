package llmschema

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Forms come from strangers, and may refer to each other in ways that double the work with
// each.
const (
	maxMerged    = 16         // forms inside each other
	maxMergeWork = 10_000_000 // comparisons of properties: some tens of milliseconds
)

var errTooMuch = errors.New("the combined schemas at its root are too many to be merged")

// combinators are the keywords that combine schemas for the same value.
var combinators = []string{"allOf", "anyOf", "oneOf", "$ref"}

// annotations are the keywords that a form may have without a loss.
var annotations = []string{
	"title", "description", "$comment", "examples", "default", "deprecated", "$defs", "definitions", "$id",
}

// form is what a schema for objects says, for the merging.
type form struct {
	properties []member
	required   []string
	closed     bool // it allows no other properties
}

func (f form) property(name string) any { return (&object{members: f.properties}).get(name) }

var errNever = errors.New("no arguments fit its schema")

// flatRoot merges the combinators at the root into its properties. Forms of which all
// apply keep their meaning. Of forms of which one applies, which arguments go together is
// lost, so the description says it.
func flatRoot(r *rewrite) error {
	if !slices.ContainsFunc(combinators, r.root.has) {
		return nil
	}
	unevaluated := isFalse(r.root.get("unevaluatedProperties"))
	merged, err := r.flatten(r.root, true, 0)
	switch {
	case err != nil:
		return err
	case r.work > maxMergeWork:
		return errTooMuch
	}
	r.root.drop(combinators...)
	if unevaluated {
		r.root.drop("unevaluatedProperties")
		merged.closed = true
	}
	for _, name := range merged.required { // a form may require what no schema describes
		switch {
		case merged.property(name) != nil:
		case merged.closed:
			return errNever
		default:
			merged.properties = append(merged.properties, member{name, emptyObject()})
		}
	}
	r.root.set("type", jsonText("object"))
	r.root.set("properties", &object{members: merged.properties})
	r.root.drop("required")
	if len(merged.required) > 0 {
		r.root.set("required", jsonNames(merged.required))
	}
	if merged.closed {
		r.root.set("additionalProperties", rawFalse)
	}
	r.rewrote("the combined schemas at its root are merged")
	return nil
}

// flatten returns what s says of an object, with its combinators.
func (r *rewrite) flatten(schema any, isRoot bool, depth int) (form, error) {
	if r.work++; depth > maxMerged || r.work > maxMergeWork {
		return form{}, errTooMuch
	}
	if isTrue(schema) {
		return form{}, nil
	}
	s, ok := schema.(*object)
	if !ok || !allowsObjects(s) {
		return form{}, errNever
	}
	out := form{properties: slices.Clone(s.object("properties").all()), required: s.names("required")}
	for _, m := range s.members {
		switch {
		case m.name == "type", m.name == "properties", m.name == "required", slices.Contains(combinators, m.name),
			slices.Contains(annotations, m.name), isRoot && m.name == "unevaluatedProperties":
		case m.name == "additionalProperties" && isFalse(m.value):
			out.closed = true
		case m.name == "additionalProperties" && isTrue(m.value), isRoot && m.name != "additionalProperties":
		default:
			r.lose("what %s says in a combined schema", m.name)
		}
	}
	if ref := s.text("$ref"); ref != "" {
		target, err := r.flatten(follow(r.root, ref), false, depth+1)
		if err != nil {
			return form{}, err
		}
		out = r.both(out, target)
	}
	for _, sub := range s.list("allOf") {
		f, err := r.flatten(sub, false, depth+1)
		if err != nil {
			return form{}, err
		}
		out = r.both(out, f)
	}
	for _, name := range []string{"anyOf", "oneOf"} {
		if !s.has(name) {
			continue
		}
		var forms []form
		for _, sub := range s.list(name) {
			f, err := r.flatten(sub, false, depth+1)
			if errors.Is(err, errNever) {
				continue
			}
			if err != nil {
				return form{}, err
			}
			forms = append(forms, f)
		}
		switch len(forms) {
		case 0:
			return form{}, errNever
		case 1:
			out = r.both(out, forms[0])
		default:
			r.explainForms(name, forms)
			out = r.both(out, r.either(out, forms))
		}
	}
	return out, nil
}

// allowsObjects reports whether the type of a schema allows objects.
func allowsObjects(s *object) bool {
	if types := s.list("type"); types != nil {
		return slices.Contains(s.names("type"), "object")
	}
	return !s.has("type") || s.text("type") == "object"
}

// both returns the form of values that have both forms.
func (r *rewrite) both(a, b form) form {
	if r.work += (1 + len(a.properties)) * (1 + len(b.properties)); r.work > maxMergeWork {
		return form{}
	}
	out := form{closed: a.closed || b.closed, required: slices.Clone(a.required)}
	for _, m := range a.properties {
		other := b.property(m.name)
		switch {
		case other == nil && b.closed:
			continue
		case other != nil && !isTrue(other) && !sameJSON(m.value, other):
			m.value = &object{members: []member{{"allOf", []any{m.value, other}}}}
		}
		out.properties = append(out.properties, m)
	}
	for _, m := range b.properties {
		if a.property(m.name) == nil && !a.closed {
			out.properties = append(out.properties, m)
		}
	}
	for _, name := range b.required {
		if !slices.Contains(out.required, name) {
			out.required = append(out.required, name)
		}
	}
	return out
}

// either returns a form that all values have which have one of several forms. What is
// around them may describe properties that the forms only require.
func (r *rewrite) either(around form, forms []form) form {
	all := len(around.properties)
	for _, f := range forms {
		all += len(f.properties)
	}
	if r.work += all * all; r.work > maxMergeWork {
		return form{}
	}
	out := form{closed: true, required: slices.Clone(forms[0].required)}
	for _, f := range forms {
		out.closed = out.closed && f.closed
		out.required = slices.DeleteFunc(out.required, func(name string) bool { return !slices.Contains(f.required, name) })
		for _, m := range f.properties {
			if (&object{members: out.properties}).has(m.name) {
				continue
			}
			var different []any
			for _, g := range forms {
				v := g.property(m.name)
				if v != nil && !slices.ContainsFunc(different, func(have any) bool { return sameJSON(have, v) }) {
					different = append(different, v)
				}
			}
			out.properties = append(out.properties, member{m.name, union(different)})
		}
		if f.closed {
			continue
		}
		for _, m := range around.properties { // it may have those as well
			if f.property(m.name) == nil && !(&object{members: out.properties}).has(m.name) {
				out.properties = append(out.properties, member{m.name, m.value})
			}
		}
	}
	return out
}

// union returns a schema that each of several fits: an enum, if each is one value.
func union(all []any) any {
	if len(all) == 1 {
		return all[0]
	}
	var values []any
	for _, v := range all {
		s, ok := v.(*object)
		if !ok || s.get("const") == nil || slices.ContainsFunc(s.members, func(m member) bool {
			return m.name != "const" && m.name != "type" && !slices.Contains(annotations, m.name)
		}) {
			return &object{members: []member{{"anyOf", all}}}
		}
		values = append(values, s.get("const"))
	}
	return &object{members: []member{{"enum", values}}}
}

// maxForms is how many forms the description lists.
const maxForms = 10

// explainForms says in the root's description which arguments go together.
func (r *rewrite) explainForms(keyword string, forms []form) {
	r.lose("which arguments go together, by %s at the root; the description says it", keyword)
	var texts []string
	for _, f := range forms {
		var parts []string
		for _, m := range f.properties {
			if s, ok := m.value.(*object); ok && s.has("const") {
				parts = append(parts, fmt.Sprintf("%s = %s", m.name, compact(s.get("const"))))
			}
		}
		for _, name := range f.required {
			if s, ok := f.property(name).(*object); !ok || !s.has("const") {
				parts = append(parts, name)
			}
		}
		if len(parts) == 0 {
			parts = []string{"none in particular"}
		}
		if text := strings.Join(parts, ", "); !slices.Contains(texts, text) {
			texts = append(texts, text)
		}
	}
	how := "at least one"
	if keyword == "oneOf" {
		how = "exactly one"
	}
	if len(texts) > maxForms {
		texts = append(texts[:maxForms], "others")
	}
	text := "Give the arguments of " + how + " of these: (" + strings.Join(texts, ") or (") + ")."
	if about := r.root.text("description"); about != "" {
		text = about + "\n" + text
	}
	r.root.set("description", jsonText(text))
}
