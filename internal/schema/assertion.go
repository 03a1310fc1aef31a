package schema

import (
	"encoding/json"
	"errors"
	"slices"
)

// shapes describe the values of keywords that hold no schemas.
var shapes = map[shape]struct {
	fits func(any) bool
	want string
}{
	anything:   {func(any) bool { return true }, ""},
	text:       {is[string], "a string"},
	boolean:    {is[bool], "true or false"},
	number:     {is[json.Number], "a number"},
	positive:   {isPositive, "a number above 0"},
	limit:      {is[json.Number], "a number"},
	count:      {isCount, "an integer from 0 up"},
	names:      {isNames, "an array of different strings"},
	namedNames: {isNamedNames, "an object of arrays of different strings"},
	types:      {isTypes, "a type or an array of different types"},
	values:     {is[[]any], "an array of values"},
	anyList:    {is[[]any], "an array"},
}

var typeNames = []string{"array", "boolean", "integer", "null", "number", "object", "string"}

// sibling maps a draft-04 keyword to the keyword whose limit it excludes.
var sibling = map[string]string{"exclusiveMinimum": "minimum", "exclusiveMaximum": "maximum"}

// assertion checks a keyword that holds no schemas and returns its copy.
func (b *builder) assertion(n *node, name string, s shape, v any) (any, error) {
	if s == limit && b.draft == draft04 {
		if _, ok := n.keys[sibling[name]]; !ok || !is[bool](v) {
			return nil, n.errorf("%s must be true or false, next to %s, in draft-04", name, sibling[name])
		}
	} else if want := shapes[s]; !want.fits(v) {
		return nil, n.errorf("%s must be %s", name, want.want)
	}
	if !keywords[name].annotation {
		n.work.steps += 1 + textSize(v)/stepText // v5 may quote it
	}
	switch name {
	case "format":
		n.work.quotes = true
		n.work.regex = v == "regex"
	case "$ref":
		address, err := canonical(v.(string))
		if err != nil {
			return nil, n.errorf("$ref %s: %v", quote(v.(string)), err)
		}
		n.refAddress = address
		return base + address, nil
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
	if s == count {
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

// size returns the number of values in v, including v.
func size(v any) int {
	total := 1
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			total += size(item)
		}
	case map[string]any:
		for _, member := range v {
			total += size(member)
		}
	}
	return total
}

// textSize returns the number of bytes of text in v.
func textSize(v any) int {
	total := 0
	switch v := v.(type) {
	case string:
		total = len(v)
	case []any:
		for _, item := range v {
			total += textSize(item)
		}
	case map[string]any:
		for key, member := range v {
			total += len(key) + textSize(member)
		}
	}
	return total
}

// comparison returns the cost of comparing a value with v, or with each of its
// items: look-ups for the text judge, and steps for v5, which parses both
// numbers in each comparison.
func comparison(v any) (lookUps, steps int) {
	values := 0
	var visit func(any)
	visit = func(v any) {
		values++
		switch v := v.(type) {
		case json.Number:
			if steps += 2; heavy(v) {
				steps += stepNumber
			}
		case []any:
			for _, item := range v {
				visit(item)
			}
		case map[string]any:
			for _, member := range v {
				visit(member)
			}
		}
	}
	visit(v)
	return values, steps + values/stepLookUps
}
