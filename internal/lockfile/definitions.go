package lockfile

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"

	"github.com/toolhost/toolhost/internal/sanitize"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// maxDefinition bounds a definition that a lock has as it is, in bytes.
const maxDefinition = 16 << 10

// Tools returns the definitions of tools by their names, as a lock has them: JSON with
// sorted keys on one line, in which characters that are not printed are escaped; or the digest
// of a definition of more than 16 KiB.
//
// # Errors
//
// A plain error for a definition that cannot be written as JSON, or a tool whose name no tool
// can have.
func Tools(defs []tool.Definition) (map[string]string, error) {
	out := map[string]string{}
	for _, def := range defs {
		if !isToolName(def.Name) {
			return nil, fmt.Errorf("%.70q is not a valid name of a tool", def.Name)
		}
		text, err := canonical(def)
		if err != nil {
			return nil, fmt.Errorf("the definition of tool %s cannot be written: %w", def.Name, err)
		}
		if out[def.Name] = printable(text); len(out[def.Name]) > maxDefinition {
			sum := sha256.Sum256(text)
			out[def.Name] = digestPrefix + hex.EncodeToString(sum[:])
		}
	}
	return out, nil
}

// isToolName reports whether s is a tool's name: [A-Za-z0-9_.-]{1,128}.
func isToolName(s string) bool {
	return s != "" && len(s) <= 128 && strings.Trim(s, letters+"_.-") == ""
}

// printable is JSON in which everything that is not printed, and may hide or reorder what is,
// is escaped, and nothing else.
func printable(text []byte) string {
	var plain bytes.Buffer
	e := json.NewEncoder(&plain)
	e.SetEscapeHTML(false)
	if err := e.Encode(decode(string(text))); err == nil {
		text = bytes.TrimSuffix(plain.Bytes(), []byte("\n"))
	}
	var b strings.Builder
	for _, r := range string(text) {
		switch hi, lo := utf16.EncodeRune(r); {
		case unicode.IsPrint(r):
			b.WriteRune(r)
		case hi != unicode.ReplacementChar:
			fmt.Fprintf(&b, `\u%04x\u%04x`, hi, lo)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

// addTool reads the value of a line for a tool, and returns the key of the fact.
func (e *Entry) addTool(key, value string) (string, error) {
	name, definition, _ := strings.Cut(value, " ")
	if !isToolName(name) {
		return key, fmt.Errorf("expected the name of a tool, got %s", sanitize.Quote(name, 60))
	}
	if _, err := parseDigest(definition); err != nil && !json.Valid([]byte(definition)) {
		return key, errors.New("expected a definition as JSON, or a digest, for tool " + name)
	}
	if e.Tools == nil {
		e.Tools = map[string]string{}
	}
	e.Tools[name] = definition
	return key + " " + name, nil
}

// maxChanges is how many changes of definitions are shown.
const maxChanges = 10

// Change is one change in a tool's definition. All values are fit to be shown.
type Change struct {
	Tool string `json:"tool"`
	// Field is the path of what has changed in the definition, such as description or
	// input_schema.properties.path.type; empty: the whole tool.
	Field string `json:"field,omitempty"`
	// Was and Is are values as JSON, cut around what differs; empty: there was, or is, none.
	Was string `json:"was,omitempty"`
	Is  string `json:"is,omitempty"`
}

// String returns the change on one line.
func (c Change) String() string {
	what := "tool " + c.Tool
	switch {
	case c.Field == "" && c.Was == "":
		return what + " is new"
	case c.Field == "" && c.Is == "":
		return what + " is gone"
	case c.Was == "":
		return fmt.Sprintf("%s: %s is new: %s", what, c.Field, c.Is)
	case c.Is == "":
		return fmt.Sprintf("%s: %s is gone, was %s", what, c.Field, c.Was)
	}
	return fmt.Sprintf("%s: %s was %s, is %s", what, c.Field, c.Was, c.Is)
}

func (d Difference) changes() string {
	var texts []string
	for _, c := range d.Changes {
		texts = append(texts, c.String())
	}
	if d.More > 0 {
		texts = append(texts, fmt.Sprintf("and %d more changes", d.More))
	}
	return strings.Join(texts, "; ")
}

// Changed returns what differs between two definitions of a tool, as [Tools] has them, on one line
// that is fit to be shown.
func Changed(name, was, is string) string {
	var d Difference
	d.Changes, d.More = changesOf(map[string]string{name: was}, map[string]string{name: is})
	return d.changes()
}

// changesOf returns what differs between definitions by name, the first of them, and how many
// more there are.
func changesOf(was, is map[string]string) (changes []Change, more int) {
	all := maps.Clone(was)
	if all == nil {
		all = map[string]string{}
	}
	maps.Copy(all, is)
	var found []Change
	for _, name := range slices.Sorted(maps.Keys(all)) {
		before, there := was[name]
		after, stays := is[name]
		switch {
		case !there:
			found = append(found, Change{Tool: name, Is: window(after, 0)})
		case !stays:
			found = append(found, Change{Tool: name, Was: window(before, 0)})
		case before != after:
			found = appendChanges(found, name, "", decode(before), decode(after))
		}
	}
	return found[:min(len(found), maxChanges)], max(0, len(found)-maxChanges)
}

// decode reads a definition; one that is a digest is a text.
func decode(definition string) (v any) {
	d := json.NewDecoder(strings.NewReader(definition))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		return definition
	}
	return v
}

// appendChanges adds what differs between two values at a path.
func appendChanges(out []Change, tool, path string, was, is any) []Change {
	if reflect.DeepEqual(was, is) {
		return out
	}
	before, ok := was.(map[string]any)
	after, both := is.(map[string]any)
	if !ok || !both {
		a, b := encode(was), encode(is)
		from := 0
		for from < min(len(a), len(b)) && a[from] == b[from] {
			from++
		}
		return append(out, Change{tool, sanitize.Line(strings.TrimPrefix(path, "."), 200), window(a, from), window(b, from)})
	}
	keys := maps.Clone(before)
	maps.Copy(keys, after)
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		at := path + "." + key
		old, had := before[key]
		now, has := after[key]
		switch {
		case had && has:
			out = appendChanges(out, tool, at, old, now)
		case had:
			out = append(out, Change{Tool: tool, Field: sanitize.Line(at[1:], 200), Was: window(encode(old), 0)})
		default:
			out = append(out, Change{Tool: tool, Field: sanitize.Line(at[1:], 200), Is: window(encode(now), 0)})
		}
	}
	return out
}

func encode(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return strconv.Quote(fmt.Sprint(v))
	}
	return printable(text)
}

// window returns a text, or the part of it around the first difference, fit to be shown.
func window(text string, from int) string {
	const before, most = 40, 200
	begin, lead := 0, ""
	if len(text) > most && from > before {
		begin, lead = from-before, "…"
	}
	return lead + sanitize.Line(text[begin:], most)
}
