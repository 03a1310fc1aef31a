package schema

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v5"

	"github.com/toolhost/toolhost/internal/jsontree"
)

// class is the kind of a problem; problems are sorted by it first.
type class uint8

const (
	missing class = iota
	unexpected
	invalid
)

// finding is one problem that v5 has found, not yet put into words: there can
// be a million of them, and only a few are shown.
type finding struct {
	class class
	// at is the location of the value, as v5 writes it.
	at string
	// name is the member of that value that is missing or unexpected; "" if the
	// value itself is unexpected.
	name string
	// node is the subschema that the value does not match; keyword is the rule
	// that it breaks, and rest is the remainder of the rule's location.
	node          *node
	keyword, rest string
	// ofName reports that the name of the value does not match, not the value.
	ofName bool
	// lost reports that at lacks a step: v5 leaves out members with an empty
	// name.
	lost bool
	// branches are the errors of each form of an anyOf or oneOf.
	branches []*jsonschema.ValidationError
}

func (f finding) compare(g finding) int {
	return cmp.Or(
		cmp.Compare(f.class, g.class), comparePlaces(f.at, g.at), strings.Compare(f.name, g.name),
		strings.Compare(f.keyword, g.keyword), strings.Compare(f.rest, g.rest), cmp.Compare(f.node.id, g.node.id),
	)
}

// maxDescribed is how many findings are put into words. It is more than
// maxProblems because several findings may have the same text.
const maxDescribed = 1000

// explainer converts v5's errors about one value to findings, and findings to
// text. It uses the locations that v5 reports, never its messages.
type explainer struct {
	schema *Schema
	value  any
}

// explain returns the error that describes why v does not match.
func (s *Schema) explain(fault *jsonschema.ValidationError, v any) error {
	x := &explainer{s, v}
	findings := x.collect(fault, nil)
	slices.SortFunc(findings, finding.compare)
	violation := &Violation{}
	seen := map[string]bool{}
	for i, f := range findings {
		if len(violation.Problems) == maxProblems || i == maxDescribed {
			violation.Omitted = len(findings) - i
			break
		}
		if text := cut(x.problem(f), maxProblemLength); !seen[text] {
			seen[text] = true
			violation.Problems = append(violation.Problems, text)
			path := x.path(f.at)
			if f.name != "" {
				path = join(path, f.name)
			}
			violation.Places = append(violation.Places, Place{path, cmp.Or(f.keyword, f.node.via), f.class == missing})
		}
	}
	if len(violation.Problems) == 0 {
		violation.Problems = []string{s.role.whole + " does not fit the schema"}
	}
	return violation
}

// collect appends the findings of one error of v5, including its causes.
func (x *explainer) collect(e *jsonschema.ValidationError, found []finding) []finding {
	n, keyword, rest := x.locate(e.AbsoluteKeywordLocation)
	f := finding{class: invalid, at: e.InstanceLocation, node: n, keyword: keyword, rest: rest}
	steps, ofName := route(e.KeywordLocation)
	f.ofName, f.lost = ofName, steps != len(split(f.at))
	switch keyword {
	case "anyOf", "oneOf":
		f.branches = e.Causes
		return append(found, f)
	case "minContains":
		return append(found, f) // the causes are items that need not match
	}
	if len(e.Causes) > 0 {
		for _, cause := range e.Causes {
			found = x.collect(cause, found)
		}
		return found
	}
	switch {
	case f.lost:
	case keyword == "required":
		return f.each(missing, x.missing(f), found)
	case keyword == "dependentRequired", keyword == "dependencies":
		f = x.dependent(f)
	case keyword == "" && n.never && n.via == "additionalProperties":
		return f.each(unexpected, x.unexpected(f), found)
	case keyword == "" && n.never && !ofName:
		switch n.via {
		case "properties", "patternProperties", "unevaluatedProperties":
			f.class = unexpected
		}
	}
	return append(found, f)
}

// each appends one finding of the class for each name, or f itself if there are
// no names.
func (f finding) each(c class, names []string, found []finding) []finding {
	if len(names) == 0 {
		return append(found, f)
	}
	for _, name := range names {
		f.class, f.name = c, name
		found = append(found, f)
	}
	return found
}

// missing returns the required names that the value does not have.
func (x *explainer) missing(f finding) []string {
	members, _ := x.lookUp(f.at).(map[string]any)
	required, _ := f.node.keys["required"].([]any)
	var names []string
	for _, v := range required {
		name, _ := v.(string)
		if _, ok := members[name]; !ok {
			names = append(names, name)
		}
	}
	return names
}

// unexpected returns the names that a closed object does not allow, sorted.
func (x *explainer) unexpected(f finding) []string {
	members, _ := x.lookUp(f.at).(map[string]any)
	names := slices.Sorted(maps.Keys(members))
	return slices.DeleteFunc(names, f.node.parent.describes)
}

// dependent returns the finding for a name that another name requires. The rest
// of f's location is that other name and an index.
func (x *explainer) dependent(f finding) finding {
	owner, index, ok := strings.Cut(f.rest, "/")
	if !ok {
		return f
	}
	owner, _ = jsontree.Unescape(owner)
	lists, _ := f.node.keys[f.keyword].(map[string]any)
	list, _ := lists[owner].([]any)
	i, err := strconv.Atoi(index)
	if err != nil || i >= len(list) {
		return f
	}
	f.class = missing
	f.name, _ = list[i].(string)
	f.rest = owner
	return f
}

// describes reports whether n has a subschema for a member of that name.
func (n *node) describes(name string) bool {
	if n.named[name] != nil {
		return true
	}
	return slices.ContainsFunc(n.patterns, func(p patternNode) bool { return p.pattern.re.MatchString(name) })
}
