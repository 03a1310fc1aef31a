package lines

import (
	"bytes"
	"errors"
	"io"
	"regexp"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/require"
)

// all reads to the end and returns the lines, bracketed.
func all(t *testing.T, r io.Reader) string {
	t.Helper()
	s := NewScanner(r)
	var b strings.Builder
	for want := 1; ; want++ {
		l, err := s.Next()
		if errors.Is(err, io.EOF) {
			return b.String()
		}
		if err != nil || l.Number != want || l.Cut {
			t.Fatalf("line %+v, %v; want number %d", l, err, want)
		}
		b.WriteString("[" + string(l.Text) + "]")
	}
}

func TestScanner(t *testing.T) {
	t.Parallel()
	for content, want := range map[string]string{
		"": "", "\n": "[]", "a": "[a]", "a\n": "[a]", "a\nb": "[a][b]", "a\r\nb\r\n": "[a][b]", "\n\na": "[][][a]", "a\rb\n": "[a\rb]", "a\r": "[a\r]",
	} {
		assert.Equalf(t, all(t, iotest.OneByteReader(strings.NewReader(content))), want, "%q", content)
	}
	long := strings.Repeat("x", 200<<10)
	assert.Equalf(t, all(t, strings.NewReader("a\n"+long+"\r\nb\n"+long)), "[a]["+long+"][b]["+long+"]", "long lines come out wrong")
}

func TestLongLinesAreCut(t *testing.T) {
	t.Parallel()
	s := NewScanner(io.MultiReader(io.LimitReader(endless{}, 64<<20), strings.NewReader("\nnext")))
	l, err := s.Next()
	if err != nil || len(l.Text) != MaxLength || !l.Cut {
		t.Errorf("%d bytes, cut %t, %v", len(l.Text), l.Cut, err)
	}
	if l, err = s.Next(); err != nil || string(l.Text) != "next" || l.Number != 2 || l.Cut {
		t.Errorf("%+v, %v", l, err)
	}
}

func TestWhatTurnsBinaryEnds(t *testing.T) {
	t.Parallel()
	s := NewScanner(io.MultiReader(strings.NewReader("a\n"), io.LimitReader(endless{}, 1<<20), strings.NewReader("\x00"), endless{}))
	if l, err := s.Next(); string(l.Text) != "a" || err != nil {
		t.Errorf("%+v, %v", l, err)
	}
	if _, err := s.Next(); !errors.Is(err, ErrBinary) {
		t.Errorf("error = %v", err)
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

func TestBinary(t *testing.T) {
	t.Parallel()
	for content, want := range map[string]bool{
		"": false, "text": false, "a\x00b": true, "caf\xe9": false, strings.Repeat("x", sniffed) + "\x00": false, strings.Repeat("x", sniffed-1) + "\x00": true,
	} {
		s := NewScanner(strings.NewReader(content))
		if got, err := s.Binary(); got != want || err != nil {
			t.Errorf("%.20q: %t, %v", content, got, err)
		}
		if l, err := s.Next(); strings.Contains(content, "\x00") {
			assert.ErrorIsf(t, err, ErrBinary, "%.20q: then", content)
		} else if content != "" && (err != nil || len(l.Text) != len(content)) {
			t.Errorf("%.20q: then %d bytes, %v", content, len(l.Text), err)
		}
	}
}

func TestScannerErrors(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	s := NewScanner(io.MultiReader(strings.NewReader("a\nb"), iotest.ErrReader(broken)))
	if l, err := s.Next(); string(l.Text) != "a" || err != nil {
		t.Errorf("%+v, %v", l, err)
	}
	if _, err := s.Next(); !errors.Is(err, broken) {
		t.Errorf("error = %v", err)
	}
	if _, err := NewScanner(iotest.ErrReader(broken)).Binary(); !errors.Is(err, broken) {
		t.Errorf("Binary: %v", err)
	}
}

func TestCompile(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		pattern string
		options Options
		text    string
		want    string
	}{
		{"a.c", Options{}, "xabcx", "abc"},
		{"a.c", Options{Literal: true}, "abc a.c", "a.c"},
		{"É", Options{Literal: true, IgnoreCase: true}, "é", "é"},
		{"^b$", Options{}, "b", "b"},
		{"(?i)B", Options{}, "b", "b"},
	} {
		re := require.Must(Compile(c.pattern, c.options))(t)
		assert.Equalf(t, re.FindString(c.text), c.want, "%+v finds", c)
	}
	for pattern, want := range map[string]string{
		"":     "the pattern is empty",
		"a\nb": "the pattern has a line break",
		"a(":   "malformed pattern \"a(\": missing closing ): `a(` (write",
	} {
		if _, err := Compile(pattern, Options{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", pattern, err)
		}
	}
}

func TestAround(t *testing.T) {
	t.Parallel()
	assert.Equalf(t, Around([]byte("short \xff"), 0), "short \uFFFD", "short")
	long := strings.Repeat("é", 1000)
	for offset, want := range map[int][2]bool{0: {false, true}, 1000: {true, true}, 2000: {true, false}} {
		got := Around([]byte(long), offset)
		if strings.HasPrefix(got, "...") != want[0] || strings.HasSuffix(got, "...") != want[1] || len(got) > shown+10 || strings.Contains(got, "\uFFFD") {
			t.Errorf("offset %d = %q", offset, got)
		}
	}
	if got := Around(bytes.Repeat([]byte("\x80"), 10_000), 5000); len(got) > 4*shown {
		t.Errorf("%d bytes of a line that is not UTF-8", len(got))
	}
	assert.Equalf(t, Column([]byte("日本x"), 6), 3, "column")
}

func TestByteOrderMarks(t *testing.T) {
	t.Parallel()
	for content, want := range map[string]string{
		"\xef\xbb\xbfa\nb": "[a][b]",
		"\xff\xfea\x00\n\x00\xe9\x00\x3d\xd8\x00\xde": "[a][é😀]",
		"\xfe\xff\x00a\x00\r\x00\n\x00b":              "[a][b]",
		"\xff\xfe":                                    "",
		"\xef\xbb":                                    "[\xef\xbb]",
	} {
		assert.Equalf(t, all(t, iotest.OneByteReader(strings.NewReader(content))), want, "%q", content)
		if binary, err := NewScanner(strings.NewReader(content)).Binary(); binary || err != nil {
			t.Errorf("%q is binary: %t, %v", content, binary, err)
		}
	}
}

// What a match that reaches the cut would be cannot be known.
func TestMatchesAtTheCut(t *testing.T) {
	t.Parallel()
	s := NewScanner(strings.NewReader(strings.Repeat("x", MaxLength) + " tail\nxx"))
	l, err := s.Next()
	if err != nil || !l.Cut {
		t.Fatalf("cut %t, %v", l.Cut, err)
	}
	for pattern, want := range map[string]int{"^x+$": 0, "x+": 0, "xxx": MaxLength / 3, "xx": MaxLength/2 - 1, "^x": 1} {
		if got := len(l.Find(regexp.MustCompile(pattern), -1)); got != want {
			t.Errorf("%s matches %d times, want %d", pattern, got, want)
		}
	}
	if l, err = s.Next(); err != nil || len(l.Find(regexp.MustCompile("x$"), -1)) != 1 {
		t.Errorf("the next line: %+v, %v", l, err)
	}
}
