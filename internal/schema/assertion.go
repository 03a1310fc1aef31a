package schema

import (
	"encoding/json"
	"errors"
	"iter"
	"slices"

	"github.com/toolhost/toolhost/internal/jsontree"
)

// shapes describe the values of keywords that hold no schemas.
var shapes = map[jsontree.Shape]struct {
	fits func(any) bool
	want string
}{
	jsontree.Anything:   {func(any) bool { return true }, ""},
	jsontree.String:     {is[string], "a string"},
	jsontree.Boolean:    {is[bool], "true or false"},
	jsontree.Number:     {is[json.Number], "a number"},
	jsontree.Positive:   {isPositive, "a number above 0"},
	jsontree.Limit:      {is[json.Number], "a number"},
	jsontree.Count:      {isCount, "an integer from 0 up"},
	jsontree.Names:      {isNames, "an array of different strings"},
	jsontree.NamedNames: {isNamedNames, "an object of arrays of different strings"},
	jsontree.Types:      {isTypes, "a type or an array of different types"},
	jsontree.Values:     {is[[]any], "an array of values"},
	jsontree.List:       {is[[]any], "an array"},
}

var typeNames = []string{"array", "boolean", "integer", "null", "number", "object", "string"}

// sibling maps a draft-04 keyword to the keyword whose limit it excludes.
var sibling = map[string]string{"exclusiveMinimum": "minimum", "exclusiveMaximum": "maximum"}

// assertion checks a keyword that holds no schemas and returns its copy.
func (b *builder) assertion(n *node, name string, kw jsontree.Keyword, v any) (any, error) {
	if kw.Shape == jsontree.Limit && b.draft == jsontree.Draft04 {
		if _, ok := n.keys[sibling[name]]; !ok || !is[bool](v) {
			return nil, n.errorf("%s must be true or false, next to %s, in draft-04", name, sibling[name])
		}
	} else if want := shapes[kw.Shape]; !want.fits(v) {
		return nil, n.errorf("%s must be %s", name, want.want)
	}
	if !kw.Annotation {
		n.work.steps += 1 + textSize(v)/stepText // v5 may quote it
	}
	switch name {
	case "format":
		n.work.quotes = true
		n.work.regex = v == "regex"
	case "$ref":
		names, ok := jsontree.Tokens(v.(string))
		if !ok {
			return nil, n.errorf(`$ref %s: references must be "#" or begin with "#/"`, quote(v.(string)))
		}
		n.refAddress = jsontree.Reference(names) // v5 would compile the target again for every other spelling
		return base + n.refAddress, nil
	case "pattern":
		p, err := b.pattern(v.(string))
		switch {
		case errors.Is(err, errDialect):
			b.unjudged(n, err)
			return nil, errNotShown
		case err != nil:
			return nil, n.errorf("%v", err)
		}
		n.work.program = p.program
	case "enum", "const":
		if name == "enum" && size(v)-1 > maxEnum {
			return nil, n.errorf("enum has more than %d values, inner ones included", maxEnum)
		}
		lookUps, steps := comparison(v)
		n.work.lookUps += lookUps
		n.work.steps += steps
	case "uniqueItems":
		n.work.unique = v.(bool)
	case "required":
		n.work.lookUps += len(v.([]any)) / stepLookUps
		n.work.steps += len(v.([]any)) / stepLookUps
	case "dependentRequired":
		for _, list := range v.(map[string]any) {
			n.work.steps += 1 + len(list.([]any))
		}
	}
	if kw.Shape == jsontree.Count {
		if f, err := v.(json.Number).Float64(); err != nil || f > maxInteger {
			return json.Number("2147483647"), nil //nolint:nilerr // equivalent: no value has that many of anything
		}
	}
	return v, nil
}

func is[T any](v any) bool {
	_, ok := v.(T)
	return ok
}

func isPositive(v any) bool {
	n, ok := v.(json.Number)
	d := decimalOf(n)
	return ok && d.digits != "" && !d.negative
}

func isCount(v any) bool {
	n, ok := v.(json.Number)
	d := decimalOf(n)
	return ok && !d.negative && d.integral()
}

func isNames(v any) bool {
	list, ok := v.([]any)
	seen := make(map[string]bool, len(list))
	for _, item := range list {
		name, text := item.(string)
		if !text || seen[name] {
			return false
		}
		seen[name] = true
	}
	return ok
}

func isNamedNames(v any) bool {
	m, ok := v.(map[string]any)
	for _, list := range m {
		if !isNames(list) {
			return false
		}
	}
	return ok
}

func isTypes(v any) bool {
	if name, ok := v.(string); ok {
		return slices.Contains(typeNames, name)
	}
	list, _ := v.([]any)
	for _, item := range list {
		if name, _ := item.(string); !slices.Contains(typeNames, name) {
			return false
		}
	}
	return len(list) > 0 && isNames(v)
}

// nested yields a value and all values in it. A member comes with its name.
func nested(v any) iter.Seq2[string, any] {
	return func(yield func(string, any) bool) { visit("", v, yield) }
}

func visit(name string, v any, yield func(string, any) bool) bool {
	if !yield(name, v) {
		return false
	}
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			if !visit("", item, yield) {
				return false
			}
		}
	case map[string]any:
		for name, member := range v {
			if !visit(name, member, yield) {
				return false
			}
		}
	}
	return true
}

// size returns the number of values in v, including v.
func size(v any) (total int) {
	for range nested(v) {
		total++
	}
	return total
}

// textSize returns the number of bytes of text in v.
func textSize(v any) (total int) {
	for name, v := range nested(v) {
		s, _ := v.(string)
		total += len(name) + len(s)
	}
	return total
}

// comparison returns the cost of comparing a value with v, or with each of its
// items: look-ups for the text judge, and steps for v5, which parses both
// numbers in each comparison.
func comparison(v any) (lookUps, steps int) {
	for _, v := range nested(v) {
		lookUps++
		if n, ok := v.(json.Number); ok {
			if steps += 2; heavy(n) {
				steps += stepNumber
			}
		}
	}
	return lookUps, steps + lookUps/stepLookUps
}
