package config

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/toolhost/toolhost/internal/trusted"
)

// MaxSize bounds a file, in bytes: 1 MiB.
const MaxSize = 1 << 20

// Load reads a file. It is opened and read once; a FIFO or device is refused and not
// waited for.
//
// # Errors
//
// [*Error] with all problems of the file's content. Otherwise those of
// [trusted.Read]: a missing file is [fs.ErrNotExist] and has the code not_found, a
// file that others may write permission_denied, a file of more than [MaxSize]
// resource_exhausted, what cannot be read unavailable.
func Load(path string) (*Config, error) {
	content, err := trusted.Read(path, MaxSize)
	if err != nil {
		return nil, err
	}
	return Parse(path, content)
}

// Parse reads the content of a file of that name, which is not opened. Relative paths
// in it are relative to the name's directory.
//
// # Errors
//
// [*Error] with all problems.
func Parse(name string, content []byte) (*Config, error) {
	c, _, err := parse(name, content)
	return c, err
}

// parse gives the tree too.
func parse(name string, content []byte) (*Config, *node, error) {
	text, bad := textOf(content)
	src, err := newSource(name, text)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: relative paths cannot be made absolute: %w", name, err)
	}
	d := &decoder{findings: &findings{src: src}, places: map[string]place{}}
	if bad != nil {
		d.add(bad.at, "", bad.hint, "%s", bad.message)
		return nil, nil, d.err()
	}
	tree := parseTree(d.findings, text)
	c := Default()
	c.File, c.digest, c.places, c.src = name, sha256.Sum256(content), d.places, func() *source { return src }
	if tree != nil {
		c.decode(d, tree)
	}
	if err := d.err(); err != nil {
		return nil, nil, err
	}
	return c, tree, nil
}

// decode reads the defaults first, wherever they stand, as the plugins begin with
// them.
func (c *Config) decode(d *decoder, tree *node) {
	fs := c.fields()
	if defaults := tree.get("defaults"); defaults != nil {
		d.places["defaults"] = defaults.at
		fs["defaults"](d, "defaults", defaults)
		fs["defaults"] = func(*decoder, string, *node) {}
	}
	fs.decode(d, "", tree)
	d.check(c)
}

// fault is why a text is not looked at.
type fault struct {
	at            place
	message, hint string
}

// textOf is a file's text with plain line ends, or what is wrong with it.
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
		case r != '\t' && r < ' ', r == 0x7f, r >= 0x80 && r < 0xa0, r == '\u2028', r == '\u2029', r == '\ufeff', r == '\ufffe', r == '\uffff':
			return text, &fault{at, fmt.Sprintf("the file has the control character %U", r), "remove it, or write it as an escape in double quotes"}
		}
		at.column++
	}
	return text, nil
}

// firstInvalid is where the first byte is that is no part of a character.
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
