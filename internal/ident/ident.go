// Package ident has the rule for the names of plugins, of servers that stand next to them, of a
// fleet's hosts and of sessions: they are parts of file names, subjects and lines.
package ident

import "strings"

// Valid reports whether a name is ^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$.
func Valid(name string) bool { return Spells(name, 64, "_.-") && Spells(name[:1], 1, "") }

// MaxTool bounds the name of a tool, ^[A-Za-z0-9_.-]{1,128}$, in bytes.
const MaxTool = 128

// Spells reports whether s consists of 1 to most ASCII letters, digits and characters of also. Each
// regular expression would add 0.1 ms and more to the start of every process that imports it.
func Spells(s string, most int, also string) bool {
	if s == "" || len(s) > most {
		return false
	}
	for i := range len(s) {
		c := s[i]
		letter := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
		if !letter && (c < '0' || '9' < c) && strings.IndexByte(also, c) < 0 {
			return false
		}
	}
	return true
}
