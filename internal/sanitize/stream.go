package sanitize

import (
	"fmt"
	"io"
	"iter"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// pieceSize bounds what is escaped at a time, in bytes: a control character may take six.
const pieceSize = 32 << 10

// Pieces cuts s into parts of at most size bytes, at least [utf8.UTFMax] each, that end
// between characters. Bytes that are not UTF-8 are cut anywhere.
func Pieces[T ~string | ~[]byte](s T, size int) iter.Seq[T] {
	return func(yield func(T) bool) {
		for len(s) > size {
			n := size
			for back := range utf8.UTFMax {
				if utf8.RuneStart(s[size-back]) {
					n = size - back
					break
				}
			}
			if !yield(s[:n]) {
				return
			}
			s = s[n:]
		}
		if len(s) > 0 {
			yield(s)
		}
	}
}

// WriteText writes [Text] of s. It takes little memory, however long s is.
//
// # Errors
//
// Those of w.
func WriteText(w io.Writer, s string) error {
	for piece := range Pieces(s, pieceSize) {
		if _, err := io.WriteString(w, Text(piece)); err != nil {
			return err
		}
	}
	return nil
}

// JSON returns a writer that passes valid JSON on to w and escapes in it, as \u escapes, the
// characters that [Text] escapes: encoding/json leaves DEL, the C1 control characters
// and invisible formatting characters as they are. The values stay the same, but for
// bytes that are not UTF-8, which become U+FFFD.
func JSON(w io.Writer) io.Writer { return &jsonWriter{w: w} }

type jsonWriter struct {
	w    io.Writer
	rest []byte // the beginning of a character
	out  []byte
}

// Write implements [io.Writer].
func (j *jsonWriter) Write(b []byte) (int, error) {
	for done := 0; done < len(b); {
		n := min(len(b)-done, pieceSize)
		if err := j.write(b[done : done+n]); err != nil {
			return done, err
		}
		done += n
	}
	return len(b), nil
}

func (j *jsonWriter) write(b []byte) error {
	if len(j.rest) > 0 {
		b = append(j.rest, b...)
		j.rest = nil
	}
	j.out = j.out[:0]
	for i := 0; i < len(b); {
		from := i
		// Outside of strings JSON has no other control characters than these.
		for i < len(b) && (b[i] >= 0x20 && b[i] < 0x7f || b[i] == '\n' || b[i] == '\t' || b[i] == '\r') {
			i++
		}
		if j.out = append(j.out, b[from:i]...); i == len(b) {
			break
		}
		if !utf8.FullRune(b[i:]) {
			j.rest = append([]byte(nil), b[i:]...)
			break
		}
		r, n := utf8.DecodeRune(b[i:])
		switch {
		case r == utf8.RuneError && n == 1, !unicode.IsPrint(r):
			for _, unit := range utf16.AppendRune(nil, r) {
				j.out = fmt.Appendf(j.out, `\u%04x`, unit)
			}
		default:
			j.out = append(j.out, b[i:i+n]...)
		}
		i += n
	}
	_, err := j.w.Write(j.out)
	return err
}
