package connect

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"reflect"
	"strings"
)

const bom = "\ufeff"

// syntax is the language of a file.
type syntax int

const (
	inJSON syntax = iota // with comments and trailing commas, if the file has them
	inTOML
	inYAML // only printed
)

func (s syntax) parse(text string) (map[string]any, error) {
	if s == inTOML {
		return parseTOML(text)
	}
	return parseJSON(text)
}

func (s syntax) put(text string, path []string, fields []field) (splice, error) {
	if s == inTOML {
		return putTOML(text, path, fields), nil
	}
	return putJSON(text, path, fields)
}

// splice is one change of a text: the bytes from at to end become another text.
type splice struct {
	at, end int
	text    string
}

func (s splice) in(text string) string { return text[:s.at] + s.text + text[s.end:] }

// between returns the change that makes a text another one.
func between(before, after string) splice {
	at, end, last := 0, len(before), len(after)
	for at < min(end, last) && before[at] == after[at] {
		at++
	}
	for end > at && last > at && before[end-1] == after[last-1] {
		end, last = end-1, last-1
	}
	return splice{at, end, after[at:last]}
}

var errMore = errors.New("the change would reach more than the entry: make it by hand, as --print shows")

// same returns an error unless two texts say the same but for what is at a path, where the second has these fields.
func (s syntax) same(before, after string, path []string, fields []field) error {
	a, err := s.parse(before)
	b, bad := s.parse(after)
	var want map[string]any
	if fields != nil {
		want, _ = parseJSON(compact(fields))
	}
	if err != nil || bad != nil || !reflect.DeepEqual(without(a, path), without(b, path)) || fields != nil && !reflect.DeepEqual(find(b, path), want) {
		return errMore
	}
	return nil
}

// find returns the object at a path; nil: there is none.
func find(tree map[string]any, path []string) map[string]any {
	for _, key := range path {
		tree, _ = tree[key].(map[string]any)
	}
	return tree
}

// without returns a tree without what is at a path, and without the objects above it that are empty then.
func without(tree map[string]any, path []string) map[string]any {
	out := maps.Clone(tree)
	if below, ok := tree[path[0]].(map[string]any); ok && len(path) > 1 {
		out[path[0]] = without(below, path[1:])
	}
	if below, ok := out[path[0]].(map[string]any); len(path) == 1 || ok && len(below) == 0 {
		delete(out, path[0])
	}
	return out
}

// value returns v as JSON, as JavaScript writes it.
func value(v any) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(v) // texts, and lists and maps of them
	return strings.TrimSuffix(b.String(), "\n")
}

// compact returns the fields as an object on one line.
func compact(fields []field) string {
	var all []string
	for _, f := range fields {
		all = append(all, value(f.key)+": "+value(f.value))
	}
	return "{" + strings.Join(all, ", ") + "}"
}

func lineEnd(text string) string {
	if strings.Contains(text, "\r\n") {
		return "\r\n"
	}
	return "\n"
}
