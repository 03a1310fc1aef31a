package jsontree

import (
	"net/url"
	"strconv"
	"strings"
)

// Escape encodes a name as a token of a reference: a JSON pointer (RFC 6901) in the fragment of a
// URL.
func Escape(name string) string {
	return url.PathEscape(strings.ReplaceAll(strings.ReplaceAll(name, "~", "~0"), "/", "~1"))
}

// Unescape is the inverse of [Escape].
//
// # Errors
//
// A percent sign that no two hexadecimal digits follow.
func Unescape(token string) (string, error) {
	token, err := url.PathUnescape(token)
	return strings.ReplaceAll(strings.ReplaceAll(token, "~1", "/"), "~0", "~"), err
}

// Tokens splits a reference within a document into the names on its way: "#" has none. Ok is
// false for any other reference.
func Tokens(ref string) (names []string, ok bool) {
	list := strings.Split(ref, "/")
	for _, token := range list[1:] {
		name, err := Unescape(token)
		if err != nil {
			return nil, false
		}
		names = append(names, name)
	}
	return names, list[0] == "#"
}

// Reference is the inverse of [Tokens]. Of the ways to write a reference it is the one that
// jsonschema/v5 uses.
func Reference(names []string) string {
	var b strings.Builder
	b.WriteByte('#')
	for _, name := range names {
		b.WriteString("/" + Escape(name))
	}
	return b.String()
}

// Follow returns what a reference within a document leads to, or nil.
func Follow(root any, ref string) any {
	names, ok := Tokens(ref)
	if !ok {
		return nil
	}
	at := root
	for _, name := range names {
		at = Child(at, name)
	}
	return at
}

// Child returns a member or an item of a value, or nil.
func Child(v any, name string) any {
	switch v := v.(type) {
	case *Object:
		return v.Get(name)
	case []any:
		if i, err := strconv.Atoi(name); err == nil && i >= 0 && i < len(v) {
			return v[i]
		}
	}
	return nil
}
