package schema

import (
	"encoding/json"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Limits of the untrusted text that an error repeats.
const (
	maxValueLength   = 64 // characters of a value
	maxListed        = 16 // values of an enum
	maxPatternShown  = 200
	maxPathEnd       = 100 // characters at either end of a path
	maxProblemLength = 512
)

// cut truncates s to n characters and marks the cut with "...".
func cut(s string, n int) string {
	if len(s) <= n || utf8.RuneCountInString(s) <= n {
		return s
	}
	for i := range s {
		if n == 0 {
			return s[:i] + "..."
		}
		n--
	}
	return s
}

// quote returns s in quotes, shortened and on one line.
func quote(s string) string {
	short := cut(s, maxValueLength)
	if len(short) == len(s) {
		return strconv.Quote(s)
	}
	return strconv.Quote(strings.TrimSuffix(short, "...")) + "..."
}

// oneLine returns a pattern, in quotes only if it would not stay on one line.
func oneLine(pattern string) string {
	if strings.IndexFunc(pattern, func(r rune) bool { return !strconv.IsPrint(r) }) >= 0 {
		pattern = strconv.Quote(pattern)
	}
	return cut(pattern, maxPatternShown)
}

// simple reports whether a key needs no quotes in a path.
func simple(key string) bool {
	return key != "" && strings.IndexFunc(key, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("_-$@/+*%", r)
	}) < 0
}

// step formats a key as a further step of a path: .name or ["odd name"].
func step(key string) string {
	if simple(key) {
		return "." + cut(key, maxValueLength)
	}
	return "[" + quote(key) + "]"
}

// join appends a key to a path. An argument at the root is just its name.
func join(path, key string) string {
	switch {
	case path != "":
		return path + step(key)
	case simple(key):
		return cut(key, maxValueLength)
	}
	return quote(key)
}

// elide leaves out the middle of a long path.
func elide(path string) string {
	if utf8.RuneCountInString(path) <= 2*maxPathEnd {
		return path
	}
	runes := []rune(path)
	return string(runes[:maxPathEnd]) + "..." + string(runes[len(runes)-maxPathEnd:])
}

// show formats a value for an error.
func show(v any) string {
	switch v := v.(type) {
	case string:
		return quote(v)
	case json.Number:
		return cut(v.String(), maxValueLength)
	case bool:
		return strconv.FormatBool(v)
	case nil:
		return "null"
	}
	if brief(v) {
		if text, err := json.Marshal(v); err == nil {
			return oneLine(cut(string(text), maxValueLength))
		}
	}
	return "the " + typeName(v)
}

// brief reports whether v is small enough to be written in full.
func brief(v any) bool {
	room := 2 * maxValueLength
	for name, v := range nested(v) {
		s, _ := v.(string)
		if room -= 1 + len(name) + len(s); room < 0 {
			return false
		}
	}
	return true
}

// list formats the first values and says how many more there are.
func list(values []any) string {
	var b strings.Builder
	for i, v := range values {
		if i == maxListed {
			b.WriteString(" and " + strconv.Itoa(len(values)-i) + " more")
			break
		}
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(show(v))
	}
	return b.String()
}

// plural formats a number of things.
func plural(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return strconv.Itoa(n) + " " + thing + "s"
}

// typeName returns the JSON Schema type of a value. A number without a fraction
// is an integer, however it is written.
func typeName(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case json.Number:
		if decimalOf(v).integral() {
			return "integer"
		}
		return "number"
	case string:
		return "string"
	case []any:
		return "array"
	}
	return "object"
}

// article puts "a" or "an" before a type's name, except before null.
func article(name string) string {
	switch name {
	case "null":
		return name
	case "integer", "object", "array":
		return "an " + name
	}
	return "a " + name
}
