package audit

import (
	"bufio"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
)

// lines reads a file line by line in bounded memory.
type lines struct {
	r      *bufio.Reader
	line   line
	offset int64 // behind the line
	number int
}

// line is a line, or what stands in its place.
type line struct {
	text   []byte // without the newline, until the next is read; the beginning of a longer one
	number int    // counts from 1
	ended  bool   // by a newline
	long   bool   // longer than maxLine
	// endless: no newline came in maxSkipped bytes, and no more was read.
	endless bool
	sum     sum // of a long line
}

// digest is the hash of all that stands on the line.
func (l *line) digest() sum {
	if l.long {
		return l.sum
	}
	return sha256.Sum256(l.text)
}

// copy is the line with a text that stays, in this buffer where it fits.
func (l *line) copy(text []byte) line {
	text = append(text[:0], l.text...)
	kept := *l
	kept.text = text
	return kept
}

// newLines reads r, which begins at this offset of its file, until ctx ends.
func newLines(ctx context.Context, r io.Reader, offset int64) *lines {
	return &lines{r: bufio.NewReaderSize(&untilEnd{ctx, r}, maxLine), offset: offset}
}

// untilEnd reads until a context ends.
type untilEnd struct {
	ctx context.Context
	r   io.Reader
}

func (u *untilEnd) Read(b []byte) (int, error) {
	if u.ctx.Err() != nil {
		return 0, u.ctx.Err()
	}
	return u.r.Read(b)
}

// next is the next line; nil at the end.
func (s *lines) next() (*line, error) {
	if s.line.endless {
		return nil, nil
	}
	text, err := s.r.ReadSlice('\n')
	s.offset += int64(len(text))
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, bufio.ErrBufferFull) {
		return nil, err
	}
	if len(text) == 0 {
		return nil, nil
	}
	s.number++
	s.line = line{text: text, number: s.number, ended: err == nil, long: errors.Is(err, bufio.ErrBufferFull)}
	if s.line.long {
		return &s.line, s.skip()
	}
	if s.line.ended {
		s.line.text = text[:len(text)-1]
	}
	return &s.line, nil
}

// maxSkipped bounds how much is read in search of the end of a line that is none of
// ours. Nothing of ours can follow, as nothing is written behind what has no record
// in its last maxEnding bytes.
const maxSkipped = 16 << 20

// endlessText is what is wrong with a file that has such a line.
var endlessText = fmt.Sprintf("no line ends in %d MiB, and the rest of this file was not read", maxSkipped>>20)

// skip reads the rest of a long line. Of its text, the beginning stays.
func (s *lines) skip() error {
	const shown = 200
	head := append([]byte(nil), s.line.text[:shown]...)
	h := sha256.New()
	h.Write(s.line.text)
	for read := len(s.line.text); read < maxSkipped; {
		text, err := s.r.ReadSlice('\n')
		read += len(text)
		s.offset += int64(len(text))
		if err == nil {
			s.line.ended = true
			text = text[:len(text)-1]
		}
		h.Write(text)
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		s.line.text, s.line.sum = head, total(h)
		return nil
	}
	s.line.text, s.line.sum, s.line.endless = head, total(h), true
	return nil
}

func total(h hash.Hash) (s sum) {
	h.Sum(s[:0])
	return s
}

// ending is what a file ends with.
type ending struct {
	last    link // the last line that has one; zero: none
	torn    sum  // of a piece of a line behind the last newline; zero: none
	unended bool // no newline is at the end
}

// maxEnding bounds how much of a file's end is read to find its last record. What
// a crash leaves behind that is a piece of one line.
const maxEnding = 8 * maxLine

// readEnding reads the end of a file. It takes the last line that is one of
// ours, edited or not: a chain that went around an edited line would hide which
// line that was.
func readEnding(file *os.File, size int64) (ending, error) {
	// The last line is nearly always in the smallest window.
	for _, window := range []int64{16 << 10, maxEnding} {
		start := max(0, size-window)
		e, whole, err := endingFrom(file, start, size)
		if err != nil || start == 0 || whole && e.last.seq > 0 {
			return e, err
		}
	}
	return ending{}, fmt.Errorf("%w in the last %d KiB of %s, which toolhost cannot have left so: move the log away",
		errNoRecord, maxEnding>>10, file.Name())
}

var errNoRecord = errors.New("there is no record")

// endingFrom reads on from a place that may be in the middle of a line. Whole
// says that what stands behind the last newline was seen from its beginning.
func endingFrom(file *os.File, start, size int64) (e ending, whole bool, err error) {
	lines := newLines(context.Background(), io.NewSectionReader(file, start, size-start), start)
	whole = start == 0
	for {
		l, err := lines.next()
		if l == nil || err != nil {
			return e, whole, err
		}
		first := !whole
		whole = whole || l.ended
		if first {
			continue // from the middle
		}
		e.unended = !l.ended
		// A line that lacks nothing but the newline is a line.
		if link, ok := parseLink(l.text); ok && (l.ended || link.intact(l.text)) {
			e.last = link
		} else if e.unended {
			e.torn = l.digest()
		}
	}
}
