package scaffold

import (
	"fmt"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/internal/lazy"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// maxName is how long a name may be: it is a directory's, a file's, an npm package's, and begins
// the names of tools.
const maxName = 40

var plainName = lazy.Regexp(`^[a-z][a-z0-9]*([-_][a-z0-9]+)*$`)

// CheckName returns an error if a name is not fit for a plugin: lower-case letters, digits and
// single hyphens or underscores within, beginning with a letter, at most 40 characters.
func CheckName(name string) error {
	e := &tool.Error{Code: tool.CodeInvalidArguments}
	switch {
	case name == "":
		e.Message = "the name of the plugin is empty"
	case len(name) > maxName:
		e.Message = fmt.Sprintf("the name of the plugin has %d characters, and at most %d are allowed", len(name), maxName)
	case plainName().MatchString(name):
		return nil
	default:
		e.Message = fmt.Sprintf("%q is not the name of a plugin", name)
	}
	e.Hint = "a name has lower-case letters and digits, with single hyphens in between, such as weather or unit-tests"
	if near := plain(name); near != name && plainName().MatchString(near) {
		e.Hint = "did you mean " + near + "? " + e.Hint
	}
	return e
}

var apart = lazy.Regexp(`[^a-z0-9]+`)

// plain makes a name of what was given, if anything of it can be used.
func plain(name string) string {
	name = name[:min(len(name), maxName)]
	name = strings.Trim(apart().ReplaceAllString(strings.ToLower(name), "-"), "-")
	return strings.TrimPrefix(name, "toolhost-plugin-")
}

// ParseLanguage returns the language of a name.
func ParseLanguage(name string) (Language, bool) {
	l := Language(name)
	return l, slices.Contains(Languages(), l)
}
