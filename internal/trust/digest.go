package trust

import (
	"crypto/sha256"
	"fmt"
	"io"

	"github.com/toolhost/toolhost/internal/safefile"
)

// maxDigested bounds what [Digest] reads, in bytes: no file that counts may have more.
const maxDigested = 256<<20 + 1

// Sum returns the SHA-256 of a content in hexadecimal digits.
func Sum(content []byte) string { return fmt.Sprintf("%x", sha256.Sum256(content)) }

// Digest returns the [Sum] of a file's content. Of a file that is too large to count it reads a
// part.
//
// # Errors
//
// Those of the system, and one for a file that is not a regular file.
func Digest(path string) (string, error) {
	f, _, err := safefile.OpenTarget(path)
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }()
	h := sha256.New()
	if _, err := io.Copy(h, io.LimitReader(f, maxDigested)); err != nil {
		return "", err
	}
	return fmt.Sprintf("%x", h.Sum(nil)), nil
}
