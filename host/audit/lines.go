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
	"time"
)

// lines reads a file line by line in bounded memory.
type lines struct {
	r      *bufio.Reader
	line   line
	offset int64 // of the next line
	number int
}

// line is a line, or what stands in place of one.
type line struct {
	text   []byte // without the newline; valid until the next call; the beginning of a long line
	number int    // counts from 1
	ended  bool   // by a newline
	long   bool   // longer than maxLine
	// endless: it has no newline in maxSkipped bytes, and no more was read.
	endless bool
	sum     sum // of a long line
}

// digest returns the hash of the whole line.
func (l *line) digest() sum {
	if l.long {
		return l.sum
	}
	return sha256.Sum256(l.text)
}

// newLines reads lines from r, which begins at this offset of its file, until ctx ends.
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

// next returns the next line; nil at the end.
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

// maxSkipped bounds the search for the end of a line that is longer than a record can be.
// No record can follow: nothing is written after a file whose last maxEnding bytes have no
// record.
const maxSkipped = 16 << 20

// endlessText says what is wrong with a file that has such a line.
var endlessText = fmt.Sprintf("no line ends in %d MiB, and the rest of this file was not read", maxSkipped>>20)

// skip reads the rest of a long line, and keeps the beginning of its text.
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
	last    link      // of the last record; zero: none
	at      time.Time // of that record; zero: it says none
	torn    sum       // digest of a piece of a line after the last newline; zero: none
	unended bool      // the file does not end with a newline
}

// maxEnding bounds how much of a file's end is read to find its last record. What a crash
// leaves after that is a piece of one line.
const maxEnding = 8 * maxLine

// readEnding reads the end of a file. It takes the last line that has the form of a record,
// edited or not: a chain that skipped an edited line would hide which line that was.
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

// endingFrom reads from a place that may be in the middle of a line. Whole reports whether
// the text after the last newline was read from its beginning.
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
			continue // it begins in the middle
		}
		e.unended = !l.ended
		// A line that lacks only the newline is complete.
		if link, ok := parseLink(l.text); ok && (l.ended || link.intact(l.text)) {
			e.last = link
			e.at, _ = timeOf(l.text)
		} else if e.unended {
			e.torn = l.digest()
		}
	}
}
