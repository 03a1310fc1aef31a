package audit

import (
	"bytes"
	"context"
	"errors"
	"io"
)

// block is how much of a file is read at a time, in bytes.
const block = 256 << 10

// backward reads the lines of a file from its end to its beginning.
type backward struct {
	file  io.ReaderAt
	start int64  // offset of text
	text  []byte // what was read, up to the line that was returned last
}

func newBackward(p *part) *backward { return &backward{file: p.file, start: p.info.Size()} }

// errEndless reports a line that is longer than any that toolhost writes.
var errEndless = errors.New(endlessText)

// next returns the line before, without its newline, and its offset. The line is valid until the
// next call.
//
// # Errors
//
// [io.EOF] at the beginning of the file; errEndless.
func (b *backward) next() (line []byte, offset int64, err error) {
	for {
		end := len(b.text)
		if end > 0 && b.text[end-1] == '\n' {
			end--
		}
		if i := bytes.LastIndexByte(b.text[:end], '\n'); i >= 0 {
			line, b.text = b.text[i+1:end], b.text[:i+1]
			return line, b.start + int64(i) + 1, nil
		}
		switch {
		case b.start == 0 && len(b.text) == 0:
			return nil, 0, io.EOF
		case b.start == 0:
			line, b.text = b.text[:end], nil
			return line, 0, nil
		case len(b.text) > maxSkipped:
			return nil, 0, errEndless
		}
		n := min(int64(max(block, len(b.text))), b.start)
		text := make([]byte, int(n)+len(b.text))
		if _, err := b.file.ReadAt(text[:n], b.start-n); err != nil && !errors.Is(err, io.EOF) {
			return nil, 0, err
		}
		copy(text[n:], b.text)
		b.start, b.text = b.start-n, text
	}
}

// last returns the place of a line, at which look, called with each line from the end on, says
// that enough was seen; the zero position if it never does. A file with a line that does not end
// is read from its beginning.
func (s *snapshot) last(ctx context.Context, look func(p *part, line []byte) (enough bool)) (position, error) {
	for i := len(s.parts) - 1; i >= 0; i-- {
		p := &s.parts[i]
		for lines, n := newBackward(p), 0; ; n++ {
			if n%1000 == 0 && ctx.Err() != nil {
				return position{}, failed(p.path, "read", ctx.Err())
			}
			line, offset, err := lines.next()
			if errors.Is(err, io.EOF) {
				break
			}
			if errors.Is(err, errEndless) {
				return position{file: p.info}, nil
			}
			if err != nil {
				return position{}, failed(p.path, "read", err)
			}
			if look(p, line) {
				number, err := countLines(ctx, io.NewSectionReader(p.file, 0, offset))
				if err != nil {
					return position{}, failed(p.path, "read", err)
				}
				return position{file: p.info, offset: offset, number: number}, nil
			}
		}
	}
	return position{}, nil
}

// countLines counts the newlines.
func countLines(ctx context.Context, r io.Reader) (n int, err error) {
	for text := make([]byte, block); ; {
		read, err := (&untilEnd{ctx, r}).Read(text)
		n += bytes.Count(text[:read], []byte{'\n'})
		if errors.Is(err, io.EOF) {
			return n, nil
		}
		if err != nil {
			return n, err
		}
	}
}
