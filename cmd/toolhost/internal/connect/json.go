package connect

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/tailscale/hujson"
)

const bom = "\ufeff"

// splice is one change of a text: the bytes from at to end become another text.
type splice struct {
	at, end int
	text    string
}

func (s splice) in(text string) string { return text[:s.at] + s.text + text[s.end:] }

// value returns v as JSON without spaces, as JavaScript writes it.
func value(v any) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(v) // texts, and lists and maps of them
	return strings.TrimSuffix(b.String(), "\n")
}

// compact returns the fields as an object without line ends.
func compact(fields []field) string {
	var all []string
	for _, f := range fields {
		all = append(all, value(f.key)+": "+value(f.value))
	}
	return "{" + strings.Join(all, ", ") + "}"
}

// within returns an object that has a value at the end of a path.
func within(path []string, inner string) string {
	for i := len(path) - 1; i >= 0; i-- {
		inner = "{" + value(path[i]) + ": " + inner + "}"
	}
	return inner
}

// indented returns an object over several lines, as JavaScript writes it: a client that writes the file back
// does not change it.
func indented(object, indent, unit, end string) string {
	var b bytes.Buffer
	_ = json.Indent(&b, []byte(object), indent, unit) // it is an object
	return strings.ReplaceAll(b.String(), "\n", end)
}

// lineEnd returns how the lines of a text end.
func lineEnd(text string) string {
	if strings.Contains(text, "\r\n") {
		return "\r\n"
	}
	return "\n"
}

// unitOf returns by how much a text indents: as its first indented line.
func unitOf(text string) string {
	for line := range strings.Lines(text) {
		if indent := blank(line); indent != "" && strings.TrimSpace(line) != "" {
			return indent
		}
	}
	return "  "
}

// blank returns the spaces and tabs that a text begins with.
func blank(text string) string { return text[:len(text)-len(strings.TrimLeft(text, " \t"))] }

// indentAt returns how the line of an offset is indented.
func indentAt(text string, at int) string {
	return blank(text[strings.LastIndexByte(text[:at], '\n')+1:])
}

func parseJSON(text string) (map[string]any, error) {
	tree, err := treeOf(text)
	if err != nil {
		return nil, err
	}
	out := map[string]any{}
	tree.Standardize()
	if err := json.Unmarshal(tree.Pack(), &out); err != nil {
		return nil, errors.New("it is not a JSON object")
	}
	return out, nil
}

// treeOf parses a file without its mark of byte order. No error has a value of the file.
func treeOf(text string) (hujson.Value, error) {
	body := strings.TrimPrefix(text, bom)
	if !utf8.ValidString(body) {
		return hujson.Value{}, errors.New("it is not UTF-8")
	}
	if strings.TrimSpace(body) == "" {
		body = "{}"
	}
	tree, err := hujson.Parse([]byte(body + "\n")) // it takes no comment that ends with the file
	if err != nil {
		line, column := 1, 1
		_, _ = fmt.Sscanf(err.Error(), "hujson: line %d, column %d", &line, &column)
		return tree, fmt.Errorf("it is not JSON, from line %d, column %d on", line, column)
	}
	if _, ok := tree.Value.(*hujson.Object); !ok {
		return tree, errors.New("it is not a JSON object")
	}
	return tree, nil
}

// putJSON returns how a text gets a value at a path. Comments, order and what else is there stay.
func putJSON(text string, path []string, fields []field) (splice, error) {
	start := len(text) - len(strings.TrimPrefix(text, bom))
	body, end, unit := text[start:], lineEnd(text), unitOf(text)
	if strings.TrimSpace(body) == "" {
		return splice{start, len(text), indented(within(path, compact(fields)), "", unit, end) + end}, nil
	}
	tree, err := treeOf(text)
	if err != nil {
		return splice{}, err
	}
	at := &tree
	for i, key := range path {
		object, ok := at.Value.(*hujson.Object)
		if !ok {
			return splice{}, fmt.Errorf("its %s is not an object", strings.Join(path[:i], "."))
		}
		member := memberOf(object, key)
		if member == nil {
			s := insert(body, at, key, within(path[i+1:], compact(fields)), unit, end)
			return splice{start + s.at, start + s.end, s.text}, nil
		}
		at = &member.Value
	}
	now := compact(fields)
	if strings.Contains(body[at.StartOffset:at.EndOffset], "\n") {
		now = indented(now, indentAt(body, at.StartOffset), unit, end)
	}
	return splice{start + at.StartOffset, start + at.EndOffset, now}, nil
}

func memberOf(object *hujson.Object, key string) *hujson.ObjectMember {
	for i := range object.Members {
		if name, ok := object.Members[i].Name.Value.(hujson.Literal); ok && name.String() == key {
			return &object.Members[i]
		}
	}
	return nil
}

// insert returns how an object gets one more member, after the others and the comments behind them.
func insert(body string, at *hujson.Value, key, inner, unit, end string) splice {
	object, _ := at.Value.(*hujson.Object)
	from, closing := at.StartOffset+1, at.EndOffset-1
	comma, lines, indent := "", true, ""
	if n := len(object.Members); n > 0 {
		last := object.Members[n-1].Value
		if from = last.EndOffset; last.AfterExtra == nil {
			comma = ","
		}
		first := string(object.Members[0].Name.BeforeExtra)
		lines = strings.Contains(first+body[from:closing], "\n")
		indent = indentAt(body, object.Members[0].Name.StartOffset)
		if !strings.Contains(first, "\n") {
			indent = indentAt(body, at.StartOffset) + unit
		}
	} else {
		indent = indentAt(body, closing) + unit
	}
	kept := strings.TrimRight(body[from:closing], " \t\r\n")
	s := splice{from, from + len(kept), comma + kept}
	if !lines {
		s.text += " " + value(key) + ": " + inner
		return s
	}
	s.text += end + indent + value(key) + ": " + indented(inner, indent, unit, end)
	if !strings.Contains(body[s.end:closing], "\n") {
		s.end, s.text = closing, s.text+end+strings.TrimSuffix(indent, unit)
	}
	return s
}

// dropJSON returns a text without the value at a path.
func dropJSON(text string, path []string) (string, error) {
	tree, err := treeOf(text)
	if err != nil {
		return "", err
	}
	// A pointer escapes ~ and /, which no key here has.
	if err := tree.Patch([]byte(`[{"op": "remove", "path": ` + value("/"+strings.Join(path, "/")) + `}]`)); err != nil {
		return "", fmt.Errorf("its %s cannot be removed", strings.Join(path, "."))
	}
	return text[:len(text)-len(strings.TrimPrefix(text, bom))] + strings.TrimSuffix(string(tree.Pack()), "\n"), nil
}
