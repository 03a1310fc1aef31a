// Package lines goes through files line by line, in bounded memory however large
// they are, and finds what matches a pattern. Start with [NewScanner].
package lines

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// MaxLength is how much of a line counts, in bytes.
const MaxLength = 1 << 20

// ErrBinary says that there is a NUL, so that the rest is no text.
var ErrBinary = errors.New("it is binary from here on")

// sniffed is how far into a file is looked to see whether it is text, in bytes.
const sniffed = 8 << 10

// Scanner reads lines.
type Scanner struct {
	r      *bufio.Reader
	number int
	long   []byte
}

// NewScanner reads from r.
func NewScanner(r io.Reader) *Scanner {
	return &Scanner{r: bufio.NewReaderSize(r, 64<<10)}
}

// Line is one line.
type Line struct {
	Number int // from 1
	// Text is the line without its end, which may be CRLF. It is good until the
	// next line is read.
	Text []byte
	// Cut says that the line is longer than [MaxLength].
	Cut bool
}

// Binary reports whether what comes is no text: whether there is a NUL in the
// first 8 KiB. It is asked before the first line is read.
func (s *Scanner) Binary() (bool, error) {
	start, err := s.r.Peek(sniffed)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return bytes.IndexByte(start, 0) >= 0, err
}

// Next reads a line. At the end the error is [io.EOF], and [ErrBinary] for a line
// with a NUL.
func (s *Scanner) Next() (Line, error) {
	text, err := s.r.ReadSlice('\n')
	cut := false
	if errors.Is(err, bufio.ErrBufferFull) && bytes.IndexByte(text, 0) < 0 {
		text, cut, err = s.rest(text)
	}
	if bytes.IndexByte(text, 0) >= 0 { // there may be no end of it
		return Line{}, ErrBinary
	}
	if err != nil && (len(text) == 0 || !errors.Is(err, io.EOF)) {
		return Line{}, err
	}
	s.number++
	if ended, ok := bytes.CutSuffix(text, []byte("\n")); ok && !cut {
		text = bytes.TrimSuffix(ended, []byte("\r"))
	}
	return Line{Number: s.number, Text: text, Cut: cut}, nil
}

// rest reads on in a line that is longer than the buffer.
func (s *Scanner) rest(start []byte) (text []byte, cut bool, err error) {
	s.long = append(s.long[:0], start...)
	for err = bufio.ErrBufferFull; errors.Is(err, bufio.ErrBufferFull); {
		var more []byte
		more, err = s.r.ReadSlice('\n')
		if bytes.IndexByte(more, 0) >= 0 {
			return s.long, true, ErrBinary
		}
		room := MaxLength - len(s.long)
		cut = cut || len(more) > room
		s.long = append(s.long, more[:min(len(more), room)]...)
	}
	return s.long, cut, err
}
