package tool

import "strings"

// Capability is something that a caller may be allowed to do, such as
// "fs:read". A tool asks for at most one, in [Definition.Permission].
type Capability string

// The capabilities of the tools that ship with toolhost. An author may declare
// others of the form word:word.
const (
	FSRead  Capability = "fs:read"
	FSWrite Capability = "fs:write"
	Exec    Capability = "exec"
	Net     Capability = "net"
)

// Valid reports whether c is a word, or two with a colon between them: lower
// case letters, digits, "_" and "-", each starting with a letter and of at
// most 32 characters.
func (c Capability) Valid() bool {
	first, second, two := strings.Cut(string(c), ":")
	return isWord(first) && (!two || isWord(second))
}

func isWord(s string) bool {
	return spells(s, 32, "_-") && 'a' <= s[0] && s[0] <= 'z' && s == strings.ToLower(s)
}
