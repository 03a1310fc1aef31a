package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"unicode/utf8"

	"github.com/toolhost/toolhost/plugins/internal/workspace"
)

// maxRead bounds what one call returns, in bytes: half of what fits into one message
// to the host.
const maxRead = 32 << 20

// margin is how far a character can extend past the edge of a part, in bytes.
const margin = utf8.UTFMax - 1

// part is a part of a file, with enough around it to see where characters begin and
// end.
type part struct {
	around     []byte
	start, end int // of the part, in around
}

// readPart reads limit bytes from offset, or all that follow if limit is 0.
func readPart(ctx context.Context, f *os.File, offset, limit int64) (part, error) {
	info, err := f.Stat()
	if err != nil {
		return part{}, err
	}
	size := info.Size()
	if offset > 0 && offset >= size {
		return part{}, nil
	}
	all := limit == 0
	if all {
		limit = maxRead
	}
	if all && size-offset > limit {
		return part{}, tooLarge(size, "")
	}
	before := min(offset, margin)
	if _, err := f.Seek(offset-before, io.SeekStart); err != nil {
		return part{}, err
	}
	var b bytes.Buffer
	b.Grow(int(min(before+limit+margin, size-offset+before)) + bytes.MinRead)
	if _, err := b.ReadFrom(workspace.Reader(ctx, io.LimitReader(f, before+limit+margin))); err != nil {
		return part{}, err
	}
	p := part{around: b.Bytes(), start: min(int(before), b.Len()), end: min(int(before+limit), b.Len())}
	if all && p.end < b.Len() { // it grew, or its size is not known, as in /proc
		return part{}, tooLarge(offset+int64(b.Len())-before, "at least ")
	}
	return p, nil
}

func tooLarge(size int64, atLeast string) error {
	return fmt.Errorf("the file has %s%d bytes and one call returns at most %d (read it in parts with offset and limit)",
		atLeast, size, int64(maxRead))
}

// bytes returns the part, to the byte.
func (p part) bytes() []byte { return p.around[p.start:p.end] }

// text returns the part as text, from the first character that starts in it to the
// end of the last. It returns false if that is not text.
func (p part) text() (string, bool) {
	b := p.around[edge(p.around, p.start):edge(p.around, p.end)]
	if !utf8.Valid(b) || bytes.IndexByte(b, 0) >= 0 {
		return "", false
	}
	return string(b), true
}

// edge returns i, or the end of the character that i would split.
func edge(b []byte, i int) int {
	for start := max(0, i-margin); start < i; start++ {
		if _, size := utf8.DecodeRune(b[start:]); start+size > i {
			return start + size
		}
	}
	return i
}
