// Package lines reads files of any size line by line in bounded memory, and finds what
// matches a pattern. Start with [NewScanner].
package lines

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"regexp"

	"golang.org/x/text/encoding/unicode"
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
	opened bool // the byte order mark was looked for
	number int
	long   []byte
}

// NewScanner returns a scanner that reads from r. UTF-16 with a byte order mark is read
// as the same text in UTF-8. The mark does not belong to the first line.
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

// Find returns at most n matches of a pattern, as [regexp.Regexp.FindAllIndex] does. In a
// line that is cut, a match that reaches the cut is left out: with the rest of the line it
// could be another, or none.
func (l Line) Find(pattern *regexp.Regexp, n int) [][]int {
	found := pattern.FindAllIndex(l.Text, n)
	if last := len(found) - 1; l.Cut && last >= 0 && found[last][1] == len(l.Text) {
		found = found[:last]
	}
	return found
}

// Byte order marks.
const (
	utf8Mark    = "\xef\xbb\xbf"
	utf16Little = "\xff\xfe"
	utf16Big    = "\xfe\xff"
)

// IsUTF16 reports whether content starts with the byte order mark of UTF-16.
func IsUTF16(content []byte) bool {
	return bytes.HasPrefix(content, []byte(utf16Little)) || bytes.HasPrefix(content, []byte(utf16Big))
}

// open looks for a byte order mark.
func (s *Scanner) open() {
	if s.opened {
		return
	}
	s.opened = true
	start, _ := s.r.Peek(len(utf8Mark)) // what follows fails to be read, too
	switch {
	case IsUTF16(start):
		decoder := unicode.UTF16(unicode.LittleEndian, unicode.ExpectBOM).NewDecoder()
		s.r = bufio.NewReaderSize(decoder.Reader(s.r), 64<<10)
	case string(start) == utf8Mark:
		_, _ = s.r.Discard(len(utf8Mark)) // they are in the buffer
	}
}

// Binary reports whether the first 8 KiB have a NUL byte. Call it before the first
// [Scanner.Next].
func (s *Scanner) Binary() (bool, error) {
	s.open()
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
	s.open()
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
