package textstream

import (
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/require"
)

// What is taken is what was written, whatever the pieces, and it is UTF-8; what a sink gets is how
// it begins, never more than it accepts.
func FuzzWriter(f *testing.F) {
	f.Add([]byte("some é 世界 🜚 text"), uint8(1), uint16(0))
	f.Add([]byte("\xf0\x9f\x9c"), uint8(1), uint16(4))
	f.Add([]byte("a\xffb\xc3"), uint8(2), uint16(3))
	f.Add([]byte(strings.Repeat("é", 9000)), uint8(255), uint16(100))
	f.Fuzz(func(t *testing.T, b []byte, step uint8, window uint16) {
		var shown strings.Builder
		open := int(window)
		s := Slot{Sink: &Sink{Window: int(window), Show: func(text string) {
			shown.WriteString(text)
			if open -= len(text); window > 0 && open < 0 || !utf8.ValidString(text) || text == "" {
				t.Errorf("a piece %q, %d beyond the window", text, -open)
			}
		}}}
		for rest := b; len(rest) > 0; {
			n := min(len(rest), int(step)+1)
			require.NoError(t, s.Writer().Write(rest[:n]))
			if rest = rest[n:]; len(rest)%3 == 0 {
				more := int(window) - open
				open += more
				s.Accept(more)
			}
		}
		w, text := s.Writer(), s.Take()
		// A truncated character at the end is one U+FFFD here and may be several bytes there.
		want := strings.ToValidUTF8(string(b), "\uFFFD")
		if len(b) > 0 && !sameButRuns(text, want) || !utf8.ValidString(text) {
			t.Errorf("%q became %q, want %q", b, text, want)
		}
		if !strings.HasPrefix(text, shown.String()) {
			t.Errorf("%q was shown of %q", shown.String(), text)
		}
		assert.ErrorIsf(t, w.WriteString("x"), ErrEnded, "after the end")
		assert.Equalf(t, s.Take(), "", "the text is taken twice")
	})
}

// sameButRuns compares texts in which a run of U+FFFD counts as one: how many bad bytes become one
// depends on how they were written.
func sameButRuns(a, b string) bool {
	one := func(s string) string {
		for strings.Contains(s, "\uFFFD\uFFFD") {
			s = strings.ReplaceAll(s, "\uFFFD\uFFFD", "\uFFFD")
		}
		return s
	}
	return one(a) == one(b)
}

func TestWriterIsFull(t *testing.T) {
	t.Parallel()
	var s Slot
	half := strings.Repeat("x", Max/2)
	for range 2 {
		require.NoError(t, s.Writer().WriteString(half))
	}
	assert.ErrorIsf(t, s.Writer().WriteString("x"), ErrFull, "beyond the bound")
	if n := len(s.Take()); n != Max {
		t.Errorf("%d bytes", n)
	}
}

// Invalid bytes are longer when they are replaced.
func TestGarbledIsBounded(t *testing.T) {
	t.Parallel()
	var s Slot
	junk := []byte(strings.Repeat("\xffx", 1<<20))
	for range 1000 {
		if s.Writer().Write(junk) != nil {
			break
		}
	}
	if n := len(s.Take()); n > Max {
		t.Errorf("%d bytes", n)
	}
}

func TestManyWriters(t *testing.T) {
	t.Parallel()
	var shown strings.Builder
	s := Slot{Sink: &Sink{Show: func(text string) { shown.WriteString(text) }}}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 1000 {
				_ = s.Writer().WriteString("éa")
			}
		})
	}
	all.Wait()
	if text := s.Take(); text != shown.String() || len(text) != 8*3000 {
		t.Errorf("%d bytes, %d shown", len(text), shown.Len())
	}
}
