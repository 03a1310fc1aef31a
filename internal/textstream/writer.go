package textstream

import (
	"errors"
	"strings"
	"sync"
	"unicode/utf8"
)

// Max bounds what a call streams, in bytes: no result is larger.
const Max = 64 << 20

// The errors of a writer.
var (
	ErrEnded = errors.New("the call has ended")
	ErrFull  = errors.New("a call streams at most 64 MiB of text")
)

const (
	// enough is how much text is handed to a sink although it has not accepted all that it was
	// given. Less waits for that, so that a slow sink gets few large pieces.
	enough = 4 << 10
	// maxPiece bounds one piece, in bytes.
	maxPiece = 32 << 10
)

// Writer collects text. It is safe for concurrent use.
type Writer struct {
	sink *Sink

	mu     sync.Mutex
	text   strings.Builder // valid UTF-8
	rest   []byte          // the beginning of a character whose end has not come
	ended  bool
	shown  int // bytes that the sink has
	window int // bytes that it still takes
}

// Write appends text. Bytes that are not UTF-8 become U+FFFD; a character may come in two writes.
//
// # Errors
//
// [ErrEnded] and [ErrFull]; nothing was appended then.
func (w *Writer) Write(b []byte) error { return write(w, b) }

// WriteString is [Writer.Write] for a string.
func (w *Writer) WriteString(s string) error { return write(w, s) }

func write[T []byte | string](w *Writer, s T) error {
	if len(s) == 0 {
		return nil
	}
	w.mu.Lock()
	if err := w.append(string(s)); err != nil {
		w.mu.Unlock()
		return err
	}
	shown := w.push()
	w.mu.Unlock()
	if shown && w.sink.Flush != nil {
		w.sink.Flush()
	}
	return nil
}

// append adds what is complete of s.
func (w *Writer) append(s string) error {
	if w.ended {
		return ErrEnded
	}
	if len(w.rest) > 0 {
		s = string(w.rest) + s
	}
	rest := unfinished(s)
	text := strings.ToValidUTF8(s[:len(s)-rest], "\uFFFD")
	if w.text.Len()+len(text)+rest > Max {
		return ErrFull
	}
	w.rest = append(w.rest[:0], s[len(s)-rest:]...)
	w.text.WriteString(text)
	return nil
}

// unfinished returns how many bytes at the end of s begin a character that is not complete.
func unfinished(s string) int {
	for n := 1; n < utf8.UTFMax && n <= len(s); n++ {
		if tail := s[len(s)-n:]; utf8.RuneStart(tail[0]) {
			if utf8.FullRuneInString(tail) {
				return 0
			}
			return n
		}
	}
	return 0
}

// push hands the sink what it takes, and reports whether that was anything. The lock is held.
func (w *Writer) push() (shown bool) {
	if w.sink == nil {
		return false
	}
	bounded := w.sink.Window > 0
	for {
		piece := w.text.String()[w.shown:]
		if bounded && w.window < w.sink.Window && len(piece) < enough {
			return shown
		}
		most := maxPiece
		if bounded {
			most = min(most, w.window)
		}
		if piece = whole(piece, most); piece == "" {
			return shown
		}
		w.sink.Show(piece)
		w.shown += len(piece)
		w.window -= len(piece)
		shown = true
	}
}

// whole returns the beginning of s of at most so many bytes, without half a character.
func whole(s string, most int) string {
	if len(s) <= most {
		return s
	}
	for most > 0 && !utf8.RuneStart(s[most]) {
		most--
	}
	return s[:most]
}

func (w *Writer) accept(bytes int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.sink == nil || w.ended {
		return
	}
	w.window = min(w.window+bytes, w.sink.Window)
	w.push()
}

// end ends the writer.
func (w *Writer) end() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.ended {
		w.ended = true
		if len(w.rest) > 0 {
			w.text.WriteRune(utf8.RuneError)
		}
	}
	return w.text.String()
}
