package schema

import (
	"regexp"
	"strings"
	"sync"
)

// maxTemplate is the size limit of a URI template, in bytes.
const maxTemplate = 8 << 10

// uriTemplate is the grammar of URI templates (RFC 6570, section 2), and takes an
// apostrophe in literals, as its erratum 6937 does.
var uriTemplate = sync.OnceValue(func() *regexp.Regexp {
	const (
		escaped  = `%[0-9A-Fa-f]{2}`
		literal  = `[^\x00-\x20"%<>\\^` + "`" + `{|}\x7f]|` + escaped
		letter   = `(?:[A-Za-z0-9_]|` + escaped + `)`
		variable = letter + `(?:\.?` + letter + `)*(?:\*|:[1-9][0-9]{0,3})?`
	)
	return regexp.MustCompile(
		`^(?:` + literal + `|\{[+#./;?&=,!@|]?` + variable + `(?:,` + variable + `)*\})*$`)
})

// isURITemplate reports whether a text is a URI template. v5 knows only the
// simplest expressions.
func isURITemplate(v any) bool {
	s, ok := v.(string)
	return !ok || len(s) <= maxTemplate && !strings.Contains(s, "\n") && uriTemplate().MatchString(s)
}
