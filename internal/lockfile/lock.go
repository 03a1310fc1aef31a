package lockfile

import (
	"maps"
	"slices"
	"strings"
)

// Lock is what may run, by the plugins' names. The zero value pins nothing, so that
// nothing runs.
type Lock struct {
	// Plugins must not be nil where something is added.
	Plugins map[string]Entry
}

// Entry is what is pinned of a plugin.
type Entry struct {
	// SHA256 is that of the binary, in 64 lower-case hexadecimal digits.
	SHA256 string `json:"sha256"`
	// Definitions is the digest of its tools' definitions; see [Digest].
	Definitions string `json:"definitions"`
	// Version is the plugin's own word; at most 256 bytes.
	Version string `json:"version"`
}

// Names are the plugins', sorted.
func (l *Lock) Names() []string { return slices.Sorted(maps.Keys(l.Plugins)) }

// isDigest reports whether s is a SHA-256 as it is written here.
func isDigest(s string) bool { return len(s) == 64 && strings.Trim(s, "0123456789abcdef") == "" }

// isName reports whether s is a plugin's name: ^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$.
func isName(s string) bool {
	return s != "" && len(s) <= 64 && !strings.ContainsAny(s[:1], "_.-") && strings.Trim(s, letters+"_.-") == ""
}

const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
