package config

import (
	"strconv"
	"strings"

	"github.com/toolhost/toolhost/internal/lazy"
	"github.com/toolhost/toolhost/internal/sanitize"
	"github.com/toolhost/toolhost/internal/suggest"
)

// snippetWidth bounds how much of a line is shown, in characters.
const snippetWidth = 100

// snippet returns a line with a mark under a column. A width above 0 is how many characters
// are shown from there on.
func (s *source) snippet(at place, width int) string {
	line := []rune(s.lines[at.line-1])
	end := len(line)
	if h := s.hidden()[at.line-1]; h >= 0 {
		end = min(end, h)
	}
	column := at.column - 1
	if width > 0 {
		end = min(end, column+width)
	}
	begin := max(0, column-snippetWidth/2)
	begin = min(begin, end)
	end, cut := min(end, begin+snippetWidth), end < len(line) || end > begin+snippetWidth
	shown := sanitize.Line(string(line[begin:end]), 0)
	before := len([]rune(sanitize.Line(string(line[begin:min(max(column, begin), end)]), 0)))
	if begin > 0 {
		shown, before = "…"+shown, before+1
	}
	if cut {
		shown += "…"
	}
	number := strconv.Itoa(at.line)
	margin := strings.Repeat(" ", len(number))
	return "  " + number + " | " + shown + "\n  " + margin + " | " + strings.Repeat(" ", before) + "^"
}

var (
	// keyWord matches what may be a key, in block and flow style.
	keyWord = lazy.Regexp(`["']?([A-Za-z_-]{3,30})["']?[ \t]*:`)
	// variableKey matches a variable's name at the beginning of a line.
	variableKey = lazy.Regexp(`^[ \t]*["']?[A-Za-z_][A-Za-z0-9_]*["']?[ \t]*:`)
)

// secretParts returns the parts of lines that may hold values of environment variables:
// the rest of the line after such a key, and the lines beneath it that are indented deeper
// or belong to brackets that it opened. It looks at the text alone, because it must work
// for text that is not YAML, and it hides too much rather than too little.
func secretParts(lines []string) []int {
	hidden := make([]int, len(lines))
	indent, first, open := -1, -1, 0 // of the block that is being hidden
	for i, line := range lines {
		hidden[i] = -1
		trimmed := strings.TrimLeft(line, " \t")
		depth := len(line) - len(trimmed)
		if indent >= 0 && trimmed != "" && open <= 0 &&
			(depth < indent || depth == indent && !strings.HasPrefix(trimmed, "- ")) {
			indent = -1
		}
		if indent >= 0 {
			if first < 0 && trimmed != "" {
				first = depth
			}
			hidden[i] = 0
			if m := variableKey().FindString(line); m != "" && depth == first {
				hidden[i] = len([]rune(m))
			}
			open += brackets(line)
			continue
		}
		for _, m := range keyWord().FindAllStringSubmatchIndex(line, -1) {
			if namesEnvironment(line[m[2]:m[3]]) {
				hidden[i] = len([]rune(line[:m[1]]))
				indent, first, open = depth, -1, brackets(line[m[1]:])
				break
			}
		}
	}
	return hidden
}

// namesEnvironment reports whether a key is environment, or a misspelling of it, or another
// key of an MCP server that people write secrets beneath.
func namesEnvironment(key string) bool {
	if key = strings.ToLower(key); key == "config" { // of a plugin
		return true
	}
	return strings.HasPrefix(key, "env") || strings.HasPrefix(key, "header") || strings.Contains(key, "secret") ||
		key == "args" || key == "url" || suggest.Distance(key, "environment") <= 4
}

func brackets(s string) int {
	return strings.Count(s, "{") + strings.Count(s, "[") - strings.Count(s, "}") - strings.Count(s, "]")
}
