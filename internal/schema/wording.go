package schema

import (
	"strings"

	"github.com/toolhost/toolhost/internal/jsontree"
	"github.com/toolhost/toolhost/internal/sanitize"
)

// maxMessage is how many characters of an author's text an error has.
const maxMessage = 200

// message returns the author's words for values that break a keyword, or "".
func (n *node) message(keyword string) string {
	switch m := n.keys[jsontree.ErrorMessage].(type) {
	case string:
		return authored(m)
	case map[string]any:
		text, _ := m[keyword].(string)
		return authored(text)
	}
	return ""
}

// described returns the first line of the node's description in parentheses, to follow a
// pattern, which models find hard to read.
func (n *node) described() string {
	about, _ := n.keys["description"].(string)
	if line := authored(about); line != "" {
		return " (" + line + ")"
	}
	return ""
}

// authored returns the first line of an author's text, shortened.
func authored(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return cut(sanitize.Line(line, 0), maxMessage)
}

// formats says what the formats that are judged ask for.
var formats = map[string]string{
	"date-time": "a date and time such as 2026-11-22T09:00:00Z", "date": "a date such as 2026-11-22",
	"time": "a time such as 09:00:00Z", "duration": "a duration such as P1DT12H", "period": "a period such as P1D",
	"email": "an e-mail address", "hostname": "a host name", "ipv4": "an IPv4 address", "ip-address": "an IPv4 address", "ipv6": "an IPv6 address",
	"uri": "an absolute URI such as https://example.com/", "iri": "an absolute IRI such as https://example.com/",
	"uri-reference": "a URI or a relative reference", "iri-reference": "an IRI or a relative reference",
	"uriref": "a URI or a relative reference", "uri-template": "a URI template such as /users/{id}",
	"uuid": "a UUID such as 123e4567-e89b-42d3-a456-426614174000", "regex": "a regular expression",
	"json-pointer": "a JSON pointer such as /a/0", "relative-json-pointer": "a relative JSON pointer such as 1/a",
}

// formatName says what a format asks for.
func formatName(format string) string {
	if name, ok := formats[format]; ok {
		return name
	}
	return "a valid " + oneLine(format)
}
