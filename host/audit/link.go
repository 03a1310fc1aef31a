package audit

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"strconv"
)

const digestPrefix = "sha256:"

// Digest returns the SHA-256 of b as "sha256:" and hexadecimal digits.
func Digest(b []byte) string {
	s := sum(sha256.Sum256(b))
	return s.String()
}

// sum is a line's hash; zero: no line.
type sum [sha256.Size]byte

func (s sum) String() string {
	if s == (sum{}) {
		return ""
	}
	return digestPrefix + hex.EncodeToString(s[:])
}

// link is a line's place in the chain.
type link struct {
	seq        uint64 // counts from 1 through all files
	prev, hash sum
	torn       sum    // digest of the piece of a line before it; zero: none
	oldest     uint64 // the number of the first line that was kept, if older files were deleted; else 0
}

// The texts around the parts of a link. It is at the head of the line so that reading it is
// cheap and an argument cannot be mistaken for it.
const (
	seqKey    = `{"seq":`
	prevKey   = `,"prev":"`
	tornKey   = `,"torn":"`
	oldestKey = `,"oldest":`
	hashKey   = `,"hash":"` + digestPrefix

	hashLength = len(hashKey) + 2*sha256.Size + len(`"}`)
)

// maxLine bounds a line, newline included. The longest line that the encoder makes is
// shorter.
const maxLine = 64 << 10

// appendLine appends the line that follows the link's predecessor, with the newline, and sets
// the link's hash. Body is what [appendRecord] returns.
func (l *link) appendLine(b, body []byte) []byte {
	start := len(b)
	b = append(b, seqKey...)
	b = strconv.AppendUint(b, l.seq, 10)
	b = append(b, prevKey...)
	b = append(appendSum(b, l.prev), '"')
	if l.torn != (sum{}) {
		b = append(b, tornKey...)
		b = append(appendSum(b, l.torn), '"')
	}
	if l.oldest > 0 {
		b = append(b, oldestKey...)
		b = strconv.AppendUint(b, l.oldest, 10)
	}
	b = append(b, ',')
	b = append(b, body...)
	b = append(b, '}')
	l.hash = sha256.Sum256(b[start:])
	b = append(b[:len(b)-1], hashKey...)
	b = hex.AppendEncode(b, l.hash[:])
	return append(b, '"', '}', '\n')
}

func appendSum(b []byte, s sum) []byte {
	if s == (sum{}) {
		return b
	}
	return hex.AppendEncode(append(b, digestPrefix...), s[:])
}

// parseLink reads the link of a line without its newline; false: the line does not have the
// form of a record. [link.intact] reports whether it is as it was written.
func parseLink(line []byte) (l link, ok bool) {
	rest, ok := bytes.CutPrefix(line, []byte(seqKey))
	if !ok || len(line) < hashLength {
		return link{}, false
	}
	if l.seq, rest, ok = cutNumber(rest); !ok {
		return link{}, false
	}
	if l.prev, rest, ok = cutSum(rest, prevKey); !ok {
		return link{}, false
	}
	if bytes.HasPrefix(rest, []byte(tornKey)) {
		if l.torn, rest, ok = cutSum(rest, tornKey); !ok {
			return link{}, false
		}
	}
	if after, has := bytes.CutPrefix(rest, []byte(oldestKey)); has {
		if l.oldest, _, ok = cutNumber(after); !ok {
			return link{}, false
		}
	}
	tail, ok := bytes.CutPrefix(line[len(line)-hashLength:], []byte(hashKey))
	if !ok || !decodeSum(&l.hash, tail[:2*sha256.Size]) || string(tail[2*sha256.Size:]) != `"}` {
		return link{}, false
	}
	return l, true
}

// maxSeq bounds the numbers of lines: at a million lines a second they last for 285 years,
// and each is exact in JSON.
const maxSeq = 1<<53 - 1

// cutNumber reads a number.
func cutNumber(b []byte) (n uint64, rest []byte, ok bool) {
	end := 0
	for end < len(b) && b[end]-'0' < 10 {
		end++
	}
	n, err := strconv.ParseUint(string(b[:end]), 10, 64)
	return n, b[end:], err == nil && n > 0 && n <= maxSeq
}

// cutSum reads a key with a hash; an empty text is the zero hash.
func cutSum(b []byte, key string) (s sum, rest []byte, ok bool) {
	b, ok = bytes.CutPrefix(b, []byte(key))
	if !ok {
		return s, nil, false
	}
	text, rest, ok := bytes.Cut(b, []byte{'"'})
	if !ok || len(text) == 0 {
		return s, rest, ok
	}
	digits, ok := bytes.CutPrefix(text, []byte(digestPrefix))
	return s, rest, ok && decodeSum(&s, digits)
}

func decodeSum(s *sum, digits []byte) bool {
	if len(digits) != 2*sha256.Size {
		return false
	}
	for _, c := range digits {
		if 'A' <= c && c <= 'F' { // hex decodes them; the encoder does not write them
			return false
		}
	}
	_, err := hex.Decode(s[:], digits)
	return err == nil
}

// intact reports whether a line with this link has the bytes that were hashed.
func (l *link) intact(line []byte) bool {
	// The brace that was hashed comes after the hash now. Replacing the comma for a moment is
	// cheaper than a copy.
	cut := len(line) - hashLength
	line[cut] = '}'
	got := sha256.Sum256(line[:cut+1])
	line[cut] = hashKey[0]
	return got == l.hash
}
