package tool

import "strings"

// spells reports whether s consists of 1 to most ASCII letters, digits and characters of
// also. A regular expression would add 0.4 ms to the start of every process that imports
// this package, plugins included.
func spells(s string, most int, also string) bool {
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
