package connect

import (
	"errors"
	"fmt"
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
	return out, err
}

var header = lazy.Regexp(`^[ \t]*\[+([^]#]*)\]`) // begins a table

// tableAt returns where a table is, with those below it, without the comments and empty lines that follow. If it is
// wrong, as in a text over several lines, the file says something else afterwards, and is not written.
func tableAt(text, name string) (at, end int, ok bool) {
	offset, inside := 0, false
	for line := range strings.Lines(text) {
		if m := header().FindStringSubmatch(line); m != nil {
			this := strings.NewReplacer(" ", "", "\t", "", `"`, "", "'", "").Replace(m[1])
			if inside = this == name || strings.HasPrefix(this, name+"."); inside && !ok {
				at, ok = offset, true
			}
		}
		offset += len(line)
		if content := strings.TrimSpace(line); inside && content != "" && content[0] != '#' {
			end = offset
		}
	}
	return at, end, ok
}

// putTOML returns how a text gets a table: at its end, or in place of the one that is there. It is added as text,
// since codex mcp add writes all tables of servers and drops their comments.
func putTOML(text string, path []string, fields []field) splice {
	name, end := strings.Join(path, "."), lineEnd(text)
	table := "[" + name + "]" + end
	for _, f := range fields {
		inline := value(f.value) // TOML has texts and lists as JSON does
		if all, ok := f.value.(map[string]string); ok {
			inline = ""
			for k, v := range all {
				inline = "{ " + value(k) + " = " + value(v) + " }" // there is one
			}
		}
		table += f.key + " = " + strings.ReplaceAll(inline, `","`, `", "`) + end
	}
	if at, end, ok := tableAt(text, name); ok {
		return splice{at, end, table}
	}
	if body := strings.TrimPrefix(text, bom); body != "" {
		table = end + table
		if !strings.HasSuffix(body, "\n") {
			table = end + table
		}
	}
	return splice{len(text), len(text), table}
}
