// Package lines reads files of any size line by line in bounded memory, and finds what
// matches a pattern. Start with [NewScanner].
package lines

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// MaxLength bounds a line, in bytes.
const MaxLength = 1 << 20

// ErrBinary is returned for a line with a NUL byte: the rest is not text.
var ErrBinary = errors.New("it is binary from here on")

// sniffed is how much of a file tells whether it is text, in bytes.
const sniffed = 8 << 10

// Scanner reads lines.
type Scanner struct {
	r      *bufio.Reader
	number int
	long   []byte
}

// NewScanner returns a scanner that reads from r.
func NewScanner(r io.Reader) *Scanner {
	return &Scanner{r: bufio.NewReaderSize(r, 64<<10)}
}

// Line is one line.
type Line struct {
	Number int // from 1
	// Text is the line without its ending, LF or CRLF. It is valid until the next
	// line is read.
	Text []byte
	// Cut is true if the line is longer than [MaxLength].
	Cut bool
}

// Binary reports whether the first 8 KiB have a NUL byte. Call it before the first
// [Scanner.Next].
func (s *Scanner) Binary() (bool, error) {
	start, err := s.r.Peek(sniffed)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return bytes.IndexByte(start, 0) >= 0, err
}

// Next reads a line.
//
// # Errors
//
// [io.EOF] at the end, [ErrBinary] for a line with a NUL byte.
func (s *Scanner) Next() (Line, error) {
	text, err := s.r.ReadSlice('\n')
	cut := false
	if errors.Is(err, bufio.ErrBufferFull) && bytes.IndexByte(text, 0) < 0 {
		text, cut, err = s.rest(text)
	}
	if bytes.IndexByte(text, 0) >= 0 { // the line may never end
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

// rest reads the rest of a line that is longer than the buffer.
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
