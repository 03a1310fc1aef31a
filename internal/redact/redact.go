// Package redact hides values in JSON. Call [Values].
package redact

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"hash"
	"slices"
	"strings"
)

// MaxInput is how much of a call's redacted arguments the record keeps, in bytes: larger ones are left out.
const MaxInput = 4 << 10

// Mark replaces a value.
const Mark = `"[redacted]"`

// Values returns text, which must be valid JSON, with the value of each key that hides reports,
// at any depth, replaced by [Mark]: at most limit bytes of it, and the digest of all of it, as
// that of host/audit. If nothing is replaced, the digest is empty, and kept is not set.
func Values(text []byte, hides func(key string) bool, limit int) (kept []byte, digest string) {
	r := redactor{rest: text, hides: hides, limit: limit}
	for r.next() {
		continue
	}
	if r.hash == nil {
		return nil, ""
	}
	r.emit(r.rest)
	return r.kept, "sha256:" + hex.EncodeToString(r.hash.Sum(nil))
}

// Among reports whether a key is one of the names of sensitive arguments. They are compared
// case-insensitively, as encoding/json does.
func Among(sensitive []string, key string) bool {
	return slices.ContainsFunc(sensitive, func(s string) bool { return strings.EqualFold(s, key) })
}

// redactor reads valid JSON once, from left to right. It hashes what it emits
// and keeps only the beginning: large arguments need no memory, and small ones
// take a fifth of the time needed to decode them.
type redactor struct {
	rest  []byte                // not emitted yet
	from  int                   // offset in rest at which the search continues
	hides func(key string) bool // reports whether the key's value is replaced
	hash  hash.Hash             // nil: nothing has been redacted yet
	kept  []byte                // at most limit bytes
	limit int
}

// next replaces the value of the next hidden key. It reports whether it found
// one.
func (r *redactor) next() bool {
	for {
		i := bytes.IndexByte(r.rest[r.from:], '"')
		if i < 0 {
			return false
		}
		start := r.from + i
		end := stringEnd(r.rest, start)
		r.from = end
		value := afterSpace(r.rest, end)
		// In valid JSON, a string before a colon is a key.
		if value == len(r.rest) || r.rest[value] != ':' || !r.isHidden(r.rest[start:end]) {
			continue
		}
		value = afterSpace(r.rest, value+1)
		end = valueEnd(r.rest, value)
		r.emit(r.rest[:value])
		r.emit([]byte(Mark))
		r.rest, r.from = r.rest[end:], 0
		return true
	}
}

func (r *redactor) emit(b []byte) {
	if r.hash == nil {
		r.hash = sha256.New()
	}
	r.hash.Write(b)
	r.kept = append(r.kept, b[:min(len(b), r.limit-len(r.kept))]...)
}

// isHidden reports whether the value of a quoted key is hidden.
func (r *redactor) isHidden(quoted []byte) bool {
	key := string(quoted[1 : len(quoted)-1])
	if strings.IndexByte(key, '\\') >= 0 && json.Unmarshal(quoted, &key) != nil {
		return true // hide the value of a key that cannot be decoded
	}
	return r.hides(key)
}

// stringEnd returns the offset after the string that begins at i.
func stringEnd(b []byte, i int) int {
	for i++; i < len(b) && b[i] != '"'; i++ {
		if b[i] == '\\' {
			i++
		}
	}
	return min(i+1, len(b))
}

func afterSpace(b []byte, i int) int {
	for i < len(b) && isSpace(b[i]) {
		i++
	}
	return i
}

func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\r' || c == '\t' }

// valueEnd returns the offset after the value that begins at i.
func valueEnd(b []byte, i int) int {
	level := 0
	for i < len(b) {
		switch c := b[i]; {
		case c == '"':
			i = stringEnd(b, i)
			if level == 0 {
				return i
			}
			continue
		case c == '{' || c == '[':
			level++
		case c == '}' || c == ']':
			if level == 0 { // the end of the enclosing object or array
				return i
			}
			if level--; level == 0 {
				return i + 1
			}
		case level == 0 && (c == ',' || isSpace(c)):
			return i
		}
		i++
	}
	return i
}
