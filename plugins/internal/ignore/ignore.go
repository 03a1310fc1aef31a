// Package ignore reads files in the syntax of gitignore(5) and tells which paths they
// ignore, as git does. Start with [Parse]; a [Scope] combines the rules of nested
// directories.
package ignore

import (
	"bytes"
	"strings"

	"github.com/toolhost/toolhost/plugins/internal/glob"
)

// MaxSize is how much of a file is read, in bytes: hundreds of times what people write.
const MaxSize = 256 << 10

// Rules are the rules of one file.
type Rules struct {
	dir   string // with a slash at the end, or empty
	rules []rule // the last that matches decides
}

type rule struct {
	negated bool // "!": paths that earlier rules ignore are not
	dirOnly bool
	whole   bool // it matches the path, not its last element
	exact   string
	pattern glob.Pattern
}

// Parse parses the content of a file in dir, which is relative to the same directory as
// all paths; "." is that directory itself. Malformed patterns match nothing.
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
	line, r.negated = strings.CutPrefix(line, "!")
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

// trim removes the spaces at the end, except for one after a backslash.
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

// Match reports whether a rule decides about a path, and whether it is ignored. It is
// not for paths below an ignored directory.
func (r *Rules) Match(path string, isDir bool) (ignored, decided bool) {
	below, ok := strings.CutPrefix(path, r.dir)
	if !ok {
		return false, false
	}
	name := below[strings.LastIndexByte(below, '/')+1:]
	for i := len(r.rules) - 1; i >= 0; i-- {
		if r.rules[i].match(below, name, isDir) {
			return !r.rules[i].negated, true
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
