package schema

import (
	"encoding/json"
	"slices"
)

// forms returns the reason if no form of several matches, or too many do.
func (x *explainer) forms(f finding) string {
	if len(f.branches) == 0 {
		return "fits more than one of the forms, of which only one is allowed"
	}
	text := "fits none of the allowed forms"
	nearest, ok := x.nearest(f)
	for deeper := ok; deeper; { // only the innermost form is informative
		var inner finding
		if inner, deeper = x.nearest(nearest); deeper {
			nearest = inner
		}
	}
	if ok {
		text += " (closest: " + x.problem(nearest) + ")"
	}
	return text
}

// nearest returns the first problem of the intended form, if that form is
// clear: the only one of the right type, or the only one whose fixed members
// match.
func (x *explainer) nearest(f finding) (finding, bool) {
	var typed, marked [][]finding
	for _, branch := range f.branches {
		found := x.collect(branch, nil)
		if len(found) == 0 || found[0].at == f.at && found[0].keyword == "type" {
			continue
		}
		typed = append(typed, found)
		if !misfit(found) {
			marked = append(marked, found)
		}
	}
	if len(typed) != 1 {
		typed = marked
	}
	if len(typed) != 1 {
		return finding{}, false
	}
	return slices.MinFunc(typed[0], finding.compare), true
}

// misfit reports whether a fixed value is wrong, such as the discriminator of a
// union.
func misfit(found []finding) bool {
	return slices.ContainsFunc(found, func(f finding) bool { return f.keyword == "const" || f.keyword == "enum" })
}

// expected returns the types that would match, if the type is the problem. A
// union whose forms all require another type is treated as one type error.
func (x *explainer) expected(f finding) ([]string, bool) {
	switch f.keyword {
	case "type":
		switch t := f.node.keys["type"].(type) {
		case string:
			return []string{t}, true
		case []any:
			var all []string
			for _, v := range t {
				name, _ := v.(string)
				all = append(all, name)
			}
			return all, true
		}
	case "anyOf", "oneOf":
		return union(x, f, x.expected, func(a, b string) bool { return a == b })
	}
	return nil, false
}

// allowed returns the values that would match, if they are listed.
func (x *explainer) allowed(f finding) ([]any, bool) {
	switch f.keyword {
	case "const":
		return []any{f.node.keys["const"]}, true
	case "enum":
		all, ok := f.node.keys["enum"].([]any)
		return all, ok
	case "anyOf", "oneOf":
		return union(x, f, x.allowed, func(a, b any) bool {
			return show(a) == show(b) && is[json.Number](a) == is[json.Number](b)
		})
	}
	return nil, false
}

// union merges what the branches of a finding would accept, if each branch
// fails for that reason only.
func union[T any](x *explainer, f finding, of func(finding) ([]T, bool), equal func(a, b T) bool) ([]T, bool) {
	var all []T
	for _, branch := range f.branches {
		found := x.collect(branch, nil)
		if len(found) != 1 || found[0].at != f.at {
			return nil, false
		}
		some, ok := of(found[0])
		if !ok {
			return nil, false
		}
	next:
		for _, v := range some {
			for _, have := range all {
				if equal(v, have) {
					continue next
				}
			}
			all = append(all, v)
		}
	}
	return all, len(all) > 0
}
