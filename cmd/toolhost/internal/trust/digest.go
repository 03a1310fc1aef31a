package trust

import (
	"crypto/sha256"
	"fmt"
	"io"
	"os"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/config"
)

// Digest returns the SHA-256 of a file's content in hexadecimal digits, as
// [config.Config.Digest] does. It reads one byte more than a configuration may have.
//
// # Errors
//
// Those of the system, and one for a file that is not a regular file.
func Digest(path string) (string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() {
		return "", fmt.Errorf("%s is not a regular file", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }()
	h := sha256.New()
	if _, err := io.Copy(h, io.LimitReader(f, config.MaxSize+1)); err != nil {
		return "", err
	}
	return fmt.Sprintf("%x", h.Sum(nil)), nil
}
