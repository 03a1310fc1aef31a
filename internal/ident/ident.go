// Package ident has the rule for the names of plugins, of servers that stand next to them, of a
// fleet's hosts and of sessions: they are parts of file names, subjects and lines.
package ident

// Valid reports whether a name is ^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$.
func Valid(name string) bool {
	for i := range len(name) {
		c := name[i]
		plain := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
		if !plain && (i == 0 || c != '_' && c != '.' && c != '-') {
			return false
		}
	}
	return 0 < len(name) && len(name) <= 64
}
