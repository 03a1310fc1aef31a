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
	start, end int   // of the part, in around
	more       bool  // follows in the file
	size       int64 // of the file
}

// What a call without a limit returns: what a model reads at a time.
const (
	usualBytes = 64 << 10
	usualLines = 2000
)

// readPart reads limit bytes from offset, or if that is 0, the whole lines in [usualBytes], and of them [usualLines].
func readPart(ctx context.Context, f *os.File, offset, limit int64) (part, error) {
	info, err := f.Stat()
	if err != nil {
		return part{}, err
	}
	size := info.Size()
	if offset > 0 && offset >= size {
		return part{}, nil
	}
	usual := limit == 0
	if usual {
		limit = usualBytes
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
	p := part{around: b.Bytes(), start: min(int(before), b.Len()), end: min(int(before+limit), b.Len()), size: size}
	if usual {
		p.end = p.start + wholeLines(p.bytes(), p.end < b.Len())
	}
	p.more = p.end < b.Len()
	return p, nil
}

// wholeLines returns where the last line ends that is returned of text, all of it if there is no more.
func wholeLines(text []byte, more bool) int {
	end := 0
	for range usualLines {
		i := bytes.IndexByte(text[end:], '\n')
		if i < 0 {
			if end == 0 || !more {
				return len(text)
			}
			break
		}
		end += i + 1
	}
	return end
}

// note says where the part ends that began at offset, if more follows.
func (p part) note(offset int64) string {
	of := ""
	if p.size > 0 { // it is not known in /proc
		of = fmt.Sprintf(" of %d", p.size)
	}
	next := offset + int64(edge(p.around, p.end)-p.start)
	return fmt.Sprintf("[... truncated: bytes %d to %d%s; offset %d goes on, and limit asks for more ...]", offset, next, of, next)
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
