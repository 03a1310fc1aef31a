package config

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/toolhost/toolhost/internal/lazy"
)

// path makes a path absolute. A relative one is relative to the file, ~ at its beginning is
// the user's home, and ${NAME} is the value of a variable.
func (r *reader) path(key string, n *node) any {
	if strings.TrimSpace(n.text) == "" {
		r.add(n.at, key, "give a path, or remove the key", "the path is empty")
		return nil
	}
	path, ok := r.expanded(key, n)
	switch {
	case !ok:
		return nil
	case filepath.IsAbs(path):
		return filepath.Clean(path)
	}
	return filepath.Join(r.src.dir, path)
}

var (
	variableForm = lazy.Regexp(`\$\{[^}]*\}?|\$[A-Za-z_][A-Za-z0-9_]*`)
	variableName = lazy.Regexp(`^\$\{([A-Za-z_][A-Za-z0-9_]*)\}$`)
)

// expanded replaces ~ and variables, or notes why it cannot. A value is not expanded again.
// What is not there is a problem: the rest of the path would be another place.
func (r *reader) expanded(key string, n *node) (path string, ok bool) {
	home, rest := "", n.text
	if strings.HasPrefix(rest, "~") {
		var err error
		if rest = rest[1:]; rest != "" && !os.IsPathSeparator(rest[0]) {
			r.add(n.at, key, "write the path in full, or ./ in front of a name", "only ~ and ~/ are expanded")
			return "", false
		}
		if home, err = os.UserHomeDir(); err != nil || !filepath.IsAbs(home) {
			r.add(n.at, key, "set HOME, or write the path in full", "this process has no home directory for ~")
			return "", false
		}
	}
	if !strings.Contains(rest, "$") {
		return home + rest, true
	}
	before := len(r.problems) + r.omitted
	rest = variableForm().ReplaceAllStringFunc(rest, func(form string) string {
		name := variableName().FindStringSubmatch(form)
		if name == nil {
			r.add(n.at, key, "write ${NAME}", "%s does not name a variable", shown(form))
			return ""
		}
		value := os.Getenv(name[1])
		if value == "" || strings.ContainsRune(value, 0) {
			r.add(n.at, key, "set it, or write the path in full", "the variable %s is not set, or empty", name[1])
		}
		return value
	})
	return home + rest, len(r.problems)+r.omitted == before
}
