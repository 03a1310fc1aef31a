package tools

import (
	"bytes"
	"encoding/json"
)

const (
	// maxAnswer bounds the entries of an answer together, in bytes of JSON. What else an
	// answer has is bounded by itself: documentation, for example, by maxDoc.
	maxAnswer = 32 << 10
	// maxLimit is how many entries a caller may ask for at once.
	maxLimit = 1000
)

// rest is the part of an answer that says what is missing in it.
type rest struct {
	Omitted    int `json:"omitted,omitempty" jsonschema:"how many entries after these were left out"`
	NextOffset int `json:"next_offset,omitempty" jsonschema:"the offset to continue with"`
}

// pager picks the entries of an answer from those that there are, which count through
// all lists of the answer.
type pager struct {
	offset, limit int
	seen          int // entries so far
	taken, size   int // those in the answer, and their bytes
	full          bool
}

// newPager returns a pager for entries that are at most so many if the caller does not
// say how many are wanted.
func newPager(p page, otherwise int) *pager {
	out := &pager{offset: p.Offset, limit: p.Limit}
	if out.limit == 0 {
		out.limit = otherwise
	}
	return out
}

// wants reports whether the next entry can be in the answer. If so, add it with add, else
// skip it.
func (p *pager) wants() bool { return p.seen >= p.offset && !p.full && p.taken < p.limit }

func (p *pager) skip() { p.seen++ }

// add adds an entry if it fits. One entry always fits.
func add[T any](p *pager, list *[]T, one T) bool {
	if !p.wants() {
		p.skip()
		return false
	}
	size := encodedSize(one) + 1
	if p.taken > 0 && p.size+size > maxAnswer {
		p.full = true
		p.skip()
		return false
	}
	*list = append(*list, one)
	p.seen, p.taken, p.size = p.seen+1, p.taken+1, p.size+size
	return true
}

// charge adds to the size of the answer without adding an entry.
func (p *pager) charge(v any) { p.size += encodedSize(v) + 1 }

func (p *pager) rest() rest {
	next := p.offset + p.taken
	if left := p.seen - next; left > 0 {
		return rest{Omitted: left, NextOffset: next}
	}
	return rest{}
}

// encodedSize returns how long a value is in an answer.
func encodedSize(v any) int {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if enc.Encode(v) != nil {
		return 0
	}
	return b.Len() - 1
}
