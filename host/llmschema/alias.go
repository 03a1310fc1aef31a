package llmschema

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

const (
	// maxAlias is OpenAI's limit, the shortest among the providers.
	maxAlias = 64
	// leastDigits is the initial length of a hash suffix. Longer suffixes are
	// hardly ever needed.
	leastDigits = 8
)

// Alias returns a name for models, matching ^[a-zA-Z_][a-zA-Z0-9_-]{0,63}$, for which
// taken reports false. It is the tool's name if that is valid; otherwise it
// replaces each other character by "_" ("fs.read" becomes "fs_read") and
// truncates the name to 64 characters. If the result is taken, its end is
// replaced by "_" and 8 hexadecimal digits of the name's SHA-256, and by more
// digits if that is taken too. The alias depends only on the name and the
// results of taken.
//
// Alias calls taken until it reports false, which it eventually does if it
// looks into a finite set.
//
// Every provider of [Formats] accepts such a name. Gemini takes only a letter or
// "_" as its first character
// (https://ai.google.dev/api/caching#FunctionDeclaration), so that names that
// begin with a digit or "-" get a "_" in front.
func Alias(name string, taken func(string) bool) string {
	alias := sanitize(name)
	if !taken(alias) {
		return alias
	}
	for sum := sha256.Sum256([]byte(name)); ; sum = sha256.Sum256(sum[:]) {
		digits := hex.EncodeToString(sum[:])
		for n := leastDigits; n < maxAlias; n++ {
			suffix := "_" + digits[:n]
			candidate := alias[:min(len(alias), maxAlias-len(suffix))] + suffix
			if !taken(candidate) {
				return candidate
			}
		}
	}
}

// sanitize replaces the characters that an alias must not have and truncates the
// name.
func sanitize(name string) string {
	fitting := strings.Map(aliasRune, name)
	if fitting == "" || fitting[0] == '-' || '0' <= fitting[0] && fitting[0] <= '9' {
		fitting = "_" + fitting
	}
	return fitting[:min(len(fitting), maxAlias)]
}

// aliasRune returns a character that an alias may have, or else "_".
func aliasRune(r rune) rune {
	switch {
	case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9', r == '_', r == '-':
		return r
	}
	return '_'
}
