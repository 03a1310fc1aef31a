// Package ignore reads files in the syntax of gitignore(5) and says what they
// leave out, as git does. Start with [Parse]; a [Scope] puts the rules of nested
// directories together.
package ignore

import (
	"bytes"
	"strings"

	"github.com/toolhost/toolhost/plugins/internal/glob"
)

// MaxSize is the most of a file that counts, in bytes: hundreds of times what
// people write.
const MaxSize = 256 << 10

// Rules are those of one file.
type Rules struct {
	dir   string // with a slash at the end, or empty
	rules []rule // the last that matches counts
}

type rule struct {
	again   bool // "!": what was left out before is back
	dirOnly bool
	whole   bool // the path is compared, not its last element
	exact   string
	pattern glob.Pattern
}

// Parse reads a file of the directory, which is relative to where all paths
// start; "." is that itself. Lines that are no pattern match nothing.
func Parse(dir string, content []byte) *Rules {
	r := &Rules{}
	if dir != "." {
		r.dir = dir + "/"
	}
	content = bytes.TrimPrefix(content[:min(len(content), MaxSize)], []byte("\uFEFF"))
	for line := range strings.SplitSeq(string(content), "\n") {
		if rule, ok := parse(strings.TrimSuffix(line, "\r")); ok {
			r.rules = append(r.rules, rule)
		}
	}
	return r
}

func parse(line string) (rule, bool) {
	if strings.HasPrefix(line, "#") {
		return rule{}, false
	}
	var r rule
	line = trim(line)
	line, r.again = strings.CutPrefix(line, "!")
	line, r.dirOnly = strings.CutSuffix(line, "/")
	if line == "" {
		return rule{}, false
	}
	r.whole = strings.Contains(line, "/")
	line = strings.TrimPrefix(line, "/")
	if !strings.ContainsAny(line, `*?[\`) {
		r.exact = line
		return r, line != ""
	}
	var err error
	r.pattern, err = glob.CompileGit(line)
	return r, err == nil
}

// trim cuts the spaces off the end, save for one behind a backslash.
func trim(line string) string {
	end := 0
	for i := 0; i < len(line); i++ {
		if line[i] == '\\' {
			i++
			end = min(i+1, len(line))
		} else if line[i] != ' ' {
			end = i + 1
		}
	}
	return line[:end]
}

// Match reports whether the rules say anything of a path, and whether it is
// left out. What is below a directory that is left out is not asked about.
func (r *Rules) Match(path string, isDir bool) (ignored, decided bool) {
	below, ok := strings.CutPrefix(path, r.dir)
	if !ok {
		return false, false
	}
	name := below[strings.LastIndexByte(below, '/')+1:]
	for i := len(r.rules) - 1; i >= 0; i-- {
		if r.rules[i].match(below, name, isDir) {
			return !r.rules[i].again, true
		}
	}
	return false, false
}

func (r rule) match(path, name string, isDir bool) bool {
	if r.dirOnly && !isDir {
		return false
	}
	subject := name
	if r.whole {
		subject = path
	}
	if r.exact != "" {
		return subject == r.exact
	}
	return r.pattern.Match(subject)
}
