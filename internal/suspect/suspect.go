// Package suspect marks in descriptions what people who read them should look at twice: descriptions are
// read by models, and may be written for them alone. It refuses nothing. Begin with [Mark].
package suspect

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/toolhost/toolhost/internal/lazy"
)

var (
	// blanks are more than a paragraph or an indent has, behind which text is out of sight.
	blanks = lazy.Regexp(`\s{12,}|(\s*\n){4,}`)
	// encoded is a word of base64 or of hexadecimal digits, as no language has one.
	encoded = lazy.Regexp(`[A-Za-z0-9+/_-]{40,}={0,2}`)
	// secrets are files and directories that have keys and passwords.
	secrets = lazy.Regexp(`(?i)[~/\w.-]*(\.ssh|\.aws|\.gnupg|\.kube|\.netrc|\.npmrc|\.pypirc|\.docker/config|id_rsa|id_ed25519|/etc/(shadow|passwd)|/proc/self/environ|\.env\b)[/\w.-]*`)
	// orders are what a description does not say of a tool, but to the model that reads it.
	orders = lazy.Regexp(`(?i)\b(ignore|disregard|forget) (all |any |the )*(previous|prior|earlier|above|other) \w+|` +
		`\b(do not|don't|never) (tell|inform|mention|show|reveal)\b[^.]{0,40}\b(user|person|human)\b|` +
		`\b(send|pass|include|attach|paste|hand over|copy|read)\b[^.]{0,40}\b(key|password|credentials?) files?\b`)
	// word is what may be the name of a tool.
	word = lazy.Regexp(`[A-Za-z0-9_.-]+`)
)

// Mark returns a description whole, with marks in brackets: how many blanks there are if there are many,
// what looks encoded, what names a file of secrets, what orders a model about, and which other tools it names, of all
// that there are.
func Mark(text, tool string, tools []string) string {
	text = blanks().ReplaceAllStringFunc(strings.TrimSpace(text), func(s string) string {
		return fmt.Sprintf(" [%d blanks] ", utf8.RuneCountInString(s))
	})
	text = encoded().ReplaceAllStringFunc(text, func(s string) string {
		if strings.ContainsAny(s, "0123456789+=") {
			return "[encoded? " + s + "]"
		}
		return s
	})
	text = secrets().ReplaceAllStringFunc(text, func(s string) string {
		path := strings.TrimRight(s, ".-")
		return "[secrets? " + path + "]" + s[len(path):]
	})
	text = orders().ReplaceAllString(text, "[order? ${0}]")
	return word().ReplaceAllStringFunc(text, func(s string) string {
		name := strings.TrimRight(s, ".")
		if name == tool || !strings.ContainsAny(name, "._") || !slices.Contains(tools, name) {
			return s
		}
		return "[tool " + name + "]" + s[len(name):]
	})
}
