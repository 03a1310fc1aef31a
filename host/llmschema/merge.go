package llmschema

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/internal/jsontree"
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
	properties []jsontree.Member
	required   []string
	closed     bool // it allows no other properties
}

func (f form) property(name string) any { return (&jsontree.Object{Members: f.properties}).Get(name) }

var errNever = errors.New("no arguments fit its schema")

// flatRoot merges the combinators at the root into its properties. Forms of which all
// apply keep their meaning. Of forms of which one applies, which arguments go together is
// lost, so the description says it.
func flatRoot(r *rewrite) error {
	if !slices.ContainsFunc(combinators, r.root.Has) {
		return nil
	}
	unevaluated := jsontree.Is(r.root.Get("unevaluatedProperties"), "false")
	merged, err := r.flatten(r.root, true, 0)
	switch {
	case err != nil:
		return err
	case r.work > maxMergeWork:
		return errTooMuch
	}
	r.root.Drop(combinators...)
	if unevaluated {
		r.root.Drop("unevaluatedProperties")
		merged.closed = true
	}
	for _, name := range merged.required { // a form may require what no schema describes
		switch {
		case merged.property(name) != nil:
		case merged.closed:
			return errNever
		default:
			merged.properties = append(merged.properties, jsontree.Member{Name: name, Value: &jsontree.Object{}})
		}
	}
	r.root.Set("type", "object")
	r.root.Set("properties", &jsontree.Object{Members: merged.properties})
	r.root.Drop("required")
	if len(merged.required) > 0 {
		r.root.Set("required", merged.required)
	}
	if merged.closed {
		r.root.Set("additionalProperties", false)
	}
	r.rewrote("the combined schemas at its root are merged")
	return nil
}

// flatten returns what s says of an object, with its combinators.
func (r *rewrite) flatten(schema any, isRoot bool, depth int) (form, error) {
	if r.work++; depth > maxMerged || r.work > maxMergeWork {
		return form{}, errTooMuch
	}
	if jsontree.Is(schema, "true") {
		return form{}, nil
	}
	s, ok := schema.(*jsontree.Object)
	if !ok || s.Has("type") && !slices.Contains(s.Types(), "object") {
		return form{}, errNever
	}
	out := form{properties: slices.Clone(s.Object("properties").All()), required: s.Texts("required")}
	for _, m := range s.Members {
		switch {
		case m.Name == "type", m.Name == "properties", m.Name == "required", slices.Contains(combinators, m.Name),
			slices.Contains(annotations, m.Name), isRoot && m.Name == "unevaluatedProperties":
		case m.Name == "additionalProperties" && jsontree.Is(m.Value, "false"):
			out.closed = true
		case m.Name == "additionalProperties" && jsontree.Is(m.Value, "true"), isRoot && m.Name != "additionalProperties":
		default:
			r.lose("what %s says in a combined schema", m.Name)
		}
	}
	if ref := s.Text("$ref"); ref != "" {
		target, err := r.flatten(jsontree.Follow(r.root, ref), false, depth+1)
		if err != nil {
			return form{}, err
		}
		out = r.both(out, target)
	}
	for _, sub := range s.List("allOf") {
		f, err := r.flatten(sub, false, depth+1)
		if err != nil {
			return form{}, err
		}
		out = r.both(out, f)
	}
	for _, name := range []string{"anyOf", "oneOf"} {
		if !s.Has(name) {
			continue
		}
		var forms []form
		for _, sub := range s.List(name) {
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

// both returns the form of values that have both forms.
func (r *rewrite) both(a, b form) form {
	if r.work += (1 + len(a.properties)) * (1 + len(b.properties)); r.work > maxMergeWork {
		return form{}
	}
	out := form{closed: a.closed || b.closed, required: slices.Clone(a.required)}
	for _, m := range a.properties {
		other := b.property(m.Name)
		switch {
		case other == nil && b.closed:
			continue
		case other != nil && !jsontree.Is(other, "true") && !jsontree.Equal(m.Value, other):
			m.Value = jsontree.Of("allOf", []any{m.Value, other})
		}
		out.properties = append(out.properties, m)
	}
	for _, m := range b.properties {
		if a.property(m.Name) == nil && !a.closed {
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
			if (&jsontree.Object{Members: out.properties}).Has(m.Name) {
				continue
			}
			var different []any
			for _, g := range forms {
				v := g.property(m.Name)
				if v != nil && !slices.ContainsFunc(different, func(have any) bool { return jsontree.Equal(have, v) }) {
					different = append(different, v)
				}
			}
			out.properties = append(out.properties, jsontree.Member{Name: m.Name, Value: union(different)})
		}
		if f.closed {
			continue
		}
		for _, m := range around.properties { // it may have those as well
			if f.property(m.Name) == nil && !(&jsontree.Object{Members: out.properties}).Has(m.Name) {
				out.properties = append(out.properties, jsontree.Member{Name: m.Name, Value: m.Value})
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
		s, ok := v.(*jsontree.Object)
		if !ok || !s.Has("const") || slices.ContainsFunc(s.Members, func(m jsontree.Member) bool {
			return m.Name != "const" && m.Name != "type" && !slices.Contains(annotations, m.Name)
		}) {
			return jsontree.Of("anyOf", all)
		}
		values = append(values, s.Get("const"))
	}
	return jsontree.Of("enum", values)
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
			if s, ok := m.Value.(*jsontree.Object); ok && s.Has("const") {
				parts = append(parts, fmt.Sprintf("%s = %s", m.Name, jsontree.Encode(s.Get("const"))))
			}
		}
		for _, name := range f.required {
			if s, ok := f.property(name).(*jsontree.Object); !ok || !s.Has("const") {
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
	if about := r.root.Text("description"); about != "" {
		text = about + "\n" + text
	}
	r.root.Set("description", text)
}
