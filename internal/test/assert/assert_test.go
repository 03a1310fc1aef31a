package assert

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
)

// A record takes the place of a test and has what it was told.
type record struct {
	testing.TB
	said []string
}

func (*record) Helper() {}

func (r *record) Error(args ...any) { r.said = append(r.said, fmt.Sprint(args...)) }

func (r *record) Errorf(format string, args ...any) {
	r.said = append(r.said, fmt.Sprintf(format, args...))
}

func TestFails(t *testing.T) {
	t.Parallel()
	wrapped := fmt.Errorf("reading: %w", io.EOF)
	for want, check := range map[string]func(testing.TB){
		`"a", want "b"`:                       func(t testing.TB) { Equal(t, "a", "b") },
		`the count of 7: 1, want 2`:           func(t testing.TB) { Equalf(t, 1, 2, "the count of %d", 7) },
		`[a], want [a b]`:                     func(t testing.TB) { EqualSlices(t, []string{"a"}, []string{"a", "b"}) },
		`"abc", without "d"`:                  func(t testing.TB) { Contains(t, "abc", "d") },
		"\na\nb\nc\n, without \"d\"":          func(t testing.TB) { Contains(t, "a\nb\nc", "d") },
		`it says: "abc", with "c"`:            func(t testing.TB) { NotContainsf(t, "abc", "c", "it says") },
		`reading: EOF`:                        func(t testing.TB) { NoError(t, wrapped) },
		`reading: EOF, want ` + canceled:      func(t testing.TB) { ErrorIs(t, wrapped, context.Canceled) },
		`<nil>, want EOF`:                     func(t testing.TB) { ErrorIs(t, nil, io.EOF) },
		`<nil>, without "EOF"`:                func(t testing.TB) { ErrorContains(t, nil, "EOF") },
		`the file: reading: EOF, without "x"`: func(t testing.TB) { ErrorContainsf(t, wrapped, "x", "the file") },
	} {
		var r record
		if check(&r); len(r.said) != 1 || r.said[0] != want {
			t.Errorf("it says %q, want %q", r.said, want)
		}
	}
	var r record
	if Equal(&r, strings.Repeat("x", 1<<20), ""); len(r.said) != 1 || len(r.said[0]) > 9<<10 {
		t.Errorf("of a long text it shows %d bytes", len(strings.Join(r.said, "")))
	}
}

var canceled = context.Canceled.Error()

func TestPasses(t *testing.T) {
	t.Parallel()
	Equal(t, 1, 1)
	Equal[error](t, io.EOF, io.EOF)
	EqualSlices(t, []int{}, nil)
	Contains(t, "abc", "b")
	NotContains(t, "abc", "d")
	NoError(t, nil)
	ErrorIs(t, fmt.Errorf("reading: %w", io.EOF), io.EOF)
	ErrorContains(t, errors.New("abc"), "b")
}
