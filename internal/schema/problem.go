package schema

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/toolhost/toolhost/internal/jsontree"
)

// problem returns the text of a finding.
func (x *explainer) problem(f finding) string {
	path := x.path(f.at)
	part := x.schema.role.part
	switch {
	case f.class == missing:
		text := "missing required " + part + ": " + join(path, f.name)
		if f.keyword != "required" {
			text += " (" + join(path, f.rest) + " needs it)"
		}
		return text
	case f.class == unexpected && f.node.via == "additionalProperties":
		return "unexpected " + part + ": " + join(path, f.name)
	case f.class == unexpected:
		return "unexpected " + part + ": " + path
	case f.lost:
		return "invalid value for a member with an empty name: " + f.brokenRule()
	case f.ofName:
		return "invalid name for " + path + ": " + x.reason(f, x.lastKey(f.at))
	}
	v := x.lookUp(f.at)
	if path == "" {
		if expected, ok := x.expected(f); ok {
			return x.schema.role.whole + " must be " + or(expected, article) + ", got " + typeName(v)
		}
		return "invalid " + x.schema.role.whole + ": " + x.reason(f, v)
	}
	return "invalid value for " + path + ": " + x.reason(f, v)
}

func (x *explainer) lastKey(at string) any {
	tokens := split(at)
	if len(tokens) == 0 {
		return ""
	}
	key, _ := jsontree.Unescape(tokens[len(tokens)-1])
	return key
}

// brokenRule returns the text for a rule without a specific text.
func (f finding) brokenRule() string {
	name := f.keyword
	if name == "" {
		name = f.node.via
	}
	return "breaks the rule " + name
}

// reason explains why v breaks the finding's rule.
func (x *explainer) reason(f finding, v any) string {
	if expected, ok := x.expected(f); ok {
		return "expected " + or(expected, func(s string) string { return s }) + ", got " + typeName(v)
	}
	if text := f.node.message(f.keyword); text != "" {
		return text + ", got " + show(v)
	}
	if allowed, ok := x.allowed(f); ok {
		switch len(allowed) {
		case 0:
			return "nothing is allowed here"
		case 1:
			return show(v) + " is not " + show(allowed[0])
		}
		return show(v) + " is not one of " + list(allowed)
	}
	rule := f.node.keys[f.keyword]
	switch f.keyword {
	case "":
		return x.forbidden(f, v)
	case "anyOf", "oneOf":
		return x.forms(f)
	case "pattern":
		pattern, _ := rule.(string)
		return show(v) + " does not match the pattern " + oneLine(pattern) + f.node.described()
	case "format":
		format, _ := rule.(string)
		return show(v) + " is not " + formatName(format)
	case "uniqueItems":
		items, _ := v.([]any)
		if i, j, ok := repeated(items, nil); ok {
			return fmt.Sprintf("items %d and %d are the same", i, j)
		}
	case "minContains":
		least := any(json.Number("1"))
		if rule != nil {
			least = rule
		}
		return "too few items are of the kind that it must contain, at least " + show(least)
	case "maxContains":
		return "too many items are of the kind that it may contain, at most " + show(rule)
	}
	if text := bounds(f, rule, v); text != "" {
		return text
	}
	return f.brokenRule()
}

// bounds returns the reason for rules about a size.
func bounds(f finding, rule, v any) string {
	if flag, ok := rule.(bool); ok && flag {
		rule = f.node.keys[sibling[f.keyword]] // draft-04
	}
	limit := show(rule)
	switch v := v.(type) {
	case string:
		n := plural(utf8.RuneCountInString(v), "character")
		switch f.keyword {
		case "minLength":
			return "is too short: " + n + ", at least " + limit
		case "maxLength":
			return "is too long: " + n + ", at most " + limit
		}
	case []any:
		switch f.keyword {
		case "minItems":
			return "has too few items: " + strconv.Itoa(len(v)) + ", at least " + limit
		case "maxItems":
			return "has too many items: " + strconv.Itoa(len(v)) + ", at most " + limit
		}
	case map[string]any:
		switch f.keyword {
		case "minProperties":
			return "has too few properties: " + strconv.Itoa(len(v)) + ", at least " + limit
		case "maxProperties":
			return "has too many properties: " + strconv.Itoa(len(v)) + ", at most " + limit
		}
	case json.Number:
		n := show(v)
		switch f.keyword {
		case "minimum":
			return n + " is too small, at least " + limit
		case "exclusiveMinimum":
			return n + " is too small, more than " + limit
		case "maximum":
			return n + " is too large, at most " + limit
		case "exclusiveMaximum":
			return n + " is too large, less than " + limit
		case "multipleOf":
			return n + " is not a multiple of " + limit
		}
	}
	return ""
}

// forbidden returns the reason if a whole subschema rejects the value.
func (x *explainer) forbidden(f finding, v any) string {
	switch {
	case f.node.via == "not":
		return "has a form that is not allowed"
	case f.node.via == "additionalItems" && f.node.never:
		if items, ok := v.([]any); ok {
			most := len(f.node.parent.prefix)
			return "has too many items: " + strconv.Itoa(len(items)) + ", at most " + strconv.Itoa(most)
		}
	}
	if f.node.never {
		return "nothing is allowed here"
	}
	return f.brokenRule()
}

// or formats each alternative and joins them.
func or(all []string, each func(string) string) string {
	words := make([]string, len(all))
	for i, s := range all {
		words[i] = each(s)
	}
	return strings.Join(words, " or ")
}
