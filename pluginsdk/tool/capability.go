package tool

import (
	"strings"

	"github.com/toolhost/toolhost/internal/ident"
)

// Capability is something that a caller may be granted, such as "fs:read". A tool
// requires at most one, in [Definition.Permission].
type Capability string

// The capabilities of the tools that ship with toolhost. Authors may declare others; see
// [Capability.Valid] for their form.
const (
	FSRead  Capability = "fs:read"  // read files
	FSWrite Capability = "fs:write" // create, change and remove files
	Exec    Capability = "exec"     // run programs
	Net     Capability = "net"      // use the network
)

// Valid reports whether c is one word, or two words separated by a colon. A word has 1 to
// 32 lower-case letters, digits, "_" and "-", and starts with a letter.
func (c Capability) Valid() bool {
	first, second, two := strings.Cut(string(c), ":")
	return isWord(first) && (!two || isWord(second))
}

func isWord(s string) bool {
	return ident.Spells(s, 32, "_-") && 'a' <= s[0] && s[0] <= 'z' && s == strings.ToLower(s)
}
