package config

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/toolhost/toolhost/internal/trusted"
)

// MaxSize bounds a file, in bytes: 1 MiB.
const MaxSize = 1 << 20

// Load reads a file. It opens and reads the file once, and refuses a FIFO or device without
// waiting for it.
//
// # Errors
//
// [*Error] with all problems of the file's content, or an error of [trusted.Read]: a missing
// file is [fs.ErrNotExist] with the code not_found, a file that others may write is
// permission_denied, a file of more than [MaxSize] is resource_exhausted, and a file that
// cannot be read is unavailable.
func Load(path string) (*Config, error) {
	content, err := trusted.Read(path, MaxSize)
	if err != nil {
		return nil, err
	}
	return Parse(path, content)
}

// Parse reads the content of the file of that name, which it does not open. Relative paths
// are relative to the directory of the name.
//
// # Errors
//
// [*Error] with all problems.
func Parse(name string, content []byte) (*Config, error) {
	text, bad := textOf(content)
	src, err := newSource(name, text)
	if err != nil {
		return nil, fmt.Errorf("%s: relative paths cannot be made absolute: %w", name, err)
	}
	r := &reader{findings: &findings{src: src}, places: map[string]place{}}
	if bad != nil {
		r.add(bad.at, "", bad.hint, "%s", bad.message)
		return nil, r.err()
	}
	c := Default()
	c.File, c.digest, c.places, c.src = name, sha256.Sum256(content), r.places, func() *source { return src }
	if tree := parseTree(r.findings, text); tree != nil {
		file, _ := r.value("", tree, root()).(map[string]any)
		if err := c.decode(file); err != nil {
			r.add(place{1, 1}, "", "", "the file cannot be read: %v", err)
		}
		r.check(c)
	}
	if err := r.err(); err != nil {
		return nil, err
	}
	return c, nil
}

// fault is why a text cannot be read.
type fault struct {
	at            place
	message, hint string
}

// textOf returns a file's text with plain line ends, or what is wrong with it.
func textOf(content []byte) (string, *fault) {
	if len(content) > MaxSize {
		return "", &fault{place{1, 1}, fmt.Sprintf("the file has more than %d bytes", MaxSize), "is it the right file?"}
	}
	content = bytes.TrimPrefix(content, []byte("\ufeff"))
	text := strings.ReplaceAll(strings.ToValidUTF8(string(content), "\ufffd"), "\r\n", "\n")
	if !utf8.Valid(content) {
		return text, &fault{firstInvalid(content), "the file is not UTF-8", "save it as UTF-8"}
	}
	lines := 1
	at := place{1, 1}
	for _, r := range text {
		switch {
		case r == '\n':
			if lines++; lines > maxLines {
				return text, &fault{at, fmt.Sprintf("the file has more than %d lines", maxLines), "is it the right file?"}
			}
			at = place{at.line + 1, 0}
		case r != '\t' && unicode.IsControl(r), strings.ContainsRune("\u2028\u2029\ufeff\ufffe\uffff", r):
			message := fmt.Sprintf("the file has the control character %U", r)
			return text, &fault{at, message, "remove it, or write it as an escape in double quotes"}
		}
		at.column++
	}
	return text, nil
}

// firstInvalid returns the place of the first byte that is not part of a character.
func firstInvalid(content []byte) place {
	at := place{1, 1}
	for len(content) > 0 {
		r, n := utf8.DecodeRune(content)
		if r == utf8.RuneError && n == 1 {
			break
		}
		at.column++
		if r == '\n' {
			at = place{at.line + 1, 1}
		}
		content = content[n:]
	}
	return at
}
