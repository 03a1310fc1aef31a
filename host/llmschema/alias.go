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

// Alias returns a name for models, matching ^[a-zA-Z0-9_-]{1,64}$, for which
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
// Every provider of [Formats] accepts such a name, with one exception: Gemini
// on Vertex AI requires a letter or "_" as the first character, where others
// also accept a digit or "-".
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
	fitting := strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9', r == '_', r == '-':
			return r
		}
		return '_'
	}, name)
	if fitting == "" {
		return "_"
	}
	return fitting[:min(len(fitting), maxAlias)]
}
