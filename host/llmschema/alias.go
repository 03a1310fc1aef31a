package llmschema

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

const (
	// maxAlias is the shortest of the providers' limits, OpenAI's.
	maxAlias = 64
	// leastDigits is how much of a hash tells two names apart well enough that
	// more are hardly ever needed.
	leastDigits = 8
)

// Alias is a name for models, ^[a-zA-Z0-9_-]{1,64}$, that is not taken: the
// tool's name where it fits, else with each other character replaced by "_"
// ("fs.read" becomes "fs_read") and cut after 64. Where that is taken, the end
// makes way for "_" and 8 hexadecimal digits of the name's SHA-256, and further
// digits where even that is taken. The same name and the same answers of taken
// give the same alias.
//
// taken has to say no at last: as it does where it looks into a finite set.
//
// Every provider of [Formats] accepts such a name, with one exception: Gemini on
// Vertex AI wants a letter or "_" in front, where others take a digit or "-" too.
func Alias(name string, taken func(string) bool) string {
	alias := fit(name)
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

// fit is name with characters and length that an alias may have.
func fit(name string) string {
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
