package chain

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"hash"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/host/audit"
)

// redacted replaces a sensitive value.
const redacted = `"[redacted]"`

// redact returns args with the value of each sensitive key, at any depth,
// replaced by "[redacted]", and the digest of the result: the digest of a short
// secret would reveal it. If nothing is replaced, both describe args unchanged.
// Keys are compared case-insensitively, as encoding/json does.
//
// The input is nil if args are not JSON, or larger than [audit.MaxInput] after
// redaction. It may share memory with args.
func redact(args []byte, sensitive []string) (input json.RawMessage, digest string) {
	if len(sensitive) == 0 || !json.Valid(args) {
		return small(args), audit.Digest(args)
	}
	return (&redactor{rest: args, hides: func(key string) bool { return isAmong(sensitive, key) }}).run(args)
}

// redactUnknown is [redact] for arguments that no schema has accepted. It also
// replaces the values of unknown keys, as a secret can stand under a mistyped
// name. It replaces arguments that are not an object as a whole; for text that
// is not JSON, both results are empty.
func redactUnknown(args []byte, sensitive []string, known map[string]bool) (input json.RawMessage, digest string) {
	if len(args) == 0 {
		return nil, audit.Digest(nil)
	}
	if !json.Valid(args) {
		return nil, ""
	}
	if args[afterSpace(args, 0)] != '{' {
		return json.RawMessage(redacted), audit.Digest([]byte(redacted))
	}
	hides := func(key string) bool { return !known[key] || isAmong(sensitive, key) }
	return (&redactor{rest: args, hides: hides}).run(args)
}

// small returns args if they fit in a record, and otherwise nil.
func small(args []byte) json.RawMessage {
	if len(args) > audit.MaxInput || !json.Valid(args) {
		return nil
	}
	return args
}

// redactor reads valid JSON once, from left to right. It hashes what it emits
// and keeps only the beginning: large arguments need no memory, and small ones
// take a fifth of the time needed to decode them.
type redactor struct {
	rest  []byte                // not emitted yet
	from  int                   // offset in rest at which the search continues
	hides func(key string) bool // reports whether the key's value is replaced
	hash  hash.Hash             // nil: nothing has been redacted yet
	kept  []byte                // at most one byte more than fits in a record
}

// run redacts args, which must equal rest.
func (r *redactor) run(args []byte) (input json.RawMessage, digest string) {
	for r.next() {
		continue
	}
	if r.hash == nil {
		return small(args), audit.Digest(args)
	}
	r.emit(r.rest)
	if len(r.kept) <= audit.MaxInput {
		input = r.kept
	}
	return input, "sha256:" + hex.EncodeToString(r.hash.Sum(nil))
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
		r.emit([]byte(redacted))
		r.rest, r.from = r.rest[end:], 0
		return true
	}
}

func (r *redactor) emit(b []byte) {
	if r.hash == nil {
		r.hash = sha256.New()
	}
	r.hash.Write(b)
	r.kept = append(r.kept, b[:min(len(b), audit.MaxInput+1-len(r.kept))]...)
}

// isHidden reports whether the value of a quoted key is hidden.
func (r *redactor) isHidden(quoted []byte) bool {
	key := string(quoted[1 : len(quoted)-1])
	if strings.IndexByte(key, '\\') >= 0 && json.Unmarshal(quoted, &key) != nil {
		return true // hide the value of a key that cannot be decoded
	}
	return r.hides(key)
}

func isAmong(sensitive []string, key string) bool {
	return slices.ContainsFunc(sensitive, func(s string) bool { return strings.EqualFold(s, key) })
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
