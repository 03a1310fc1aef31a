package connect

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"

	"github.com/toolhost/toolhost/internal/lazy"
)

func parseTOML(text string) (map[string]any, error) {
	out := map[string]any{}
	_, err := toml.Decode(strings.TrimPrefix(text, bom), &out)
	if bad := (toml.ParseError{}); errors.As(err, &bad) { // its text may have a value of the file
		return nil, fmt.Errorf("it is not TOML, from line %d on", bad.Position.Line)
	}
	if err != nil {
		return nil, errors.New("it is not TOML")
	}
	return out, nil
}

// header is a line that begins a table: [a.b] or [[a.b]].
var header = lazy.Regexp(`^[ \t]*\[+[ \t]*([^]#]*?)[ \t]*\]`)

// tableAt returns where a table is, with those below it, without the comments and empty lines that follow.
// Where it is wrong, as in a text over several lines, the file is another one afterwards, and is refused.
func tableAt(text, name string) (at, end int, ok bool) {
	offset, inside := 0, false
	for line := range strings.Lines(text) {
		next := offset + len(line)
		if m := header().FindStringSubmatch(line); m != nil {
			this := strings.NewReplacer(" ", "", "\t", "", `"`, "", "'", "").Replace(m[1])
			inside = this == name || strings.HasPrefix(this, name+".")
			if inside && !ok {
				at, ok = offset, true
			}
		}
		if content := strings.TrimSpace(line); inside && content != "" && content[0] != '#' {
			end = next
		}
		offset = next
	}
	return at, end, ok
}

// putTOML returns how a text gets a table: at its end, or in place of the one that is there. It is added as text,
// since codex mcp add writes all tables of servers and drops their comments.
func putTOML(text string, path []string, fields []field) (splice, error) {
	name, end := strings.Join(path, "."), lineEnd(text)
	lines := []string{"[" + name + "]"}
	for _, f := range fields {
		lines = append(lines, f.key+" = "+inline(f.value))
	}
	s := splice{len(text), len(text), strings.Join(lines, end) + end}
	if at, end, ok := tableAt(text, name); ok {
		s.at, s.end = at, end
		return s, nil
	}
	if body := strings.TrimPrefix(text, bom); body != "" {
		s.text = end + s.text
		if !strings.HasSuffix(body, "\n") {
			s.text = end + s.text
		}
	}
	return s, nil
}

// inline returns a text, a list of texts, or a map of them. TOML and JSON write texts and lists alike.
func inline(v any) string {
	var out []string
	switch v := v.(type) {
	case map[string]string:
		for _, k := range slices.Sorted(maps.Keys(v)) {
			out = append(out, value(k)+" = "+value(v[k]))
		}
		return "{ " + strings.Join(out, ", ") + " }"
	case []string:
		for _, word := range v {
			out = append(out, value(word))
		}
		return "[" + strings.Join(out, ", ") + "]"
	}
	return value(v)
}

// dropTOML returns a text without a table, and without the empty line above it.
func dropTOML(text string, path []string) (string, error) {
	at, end, ok := tableAt(text, strings.Join(path, "."))
	if !ok {
		return "", fmt.Errorf("its %s is no table of its own", strings.Join(path, "."))
	}
	before := text[:at]
	if line := lineEnd(text); strings.HasSuffix(before, line+line) {
		before = strings.TrimSuffix(before, line)
	}
	return before + text[end:], nil
}
