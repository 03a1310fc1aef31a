// Package assert has what tests of all packages find out in the same words. The test goes on after
// it has failed; with internal/test/require it ends. The functions that end in f say besides what was looked at.
package assert

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// Equal fails the test if got is not want.
func Equal[T comparable](t testing.TB, got, want T) {
	t.Helper()
	Equalf(t, got, want, "")
}

// Equalf is [Equal] with what got is, as of fmt.Sprintf.
func Equalf[T comparable](t testing.TB, got, want T, what string, args ...any) {
	if got != want {
		t.Helper()
		fail(t, got, "want "+text(want), what, args)
	}
}

// EqualSlices fails the test if got has other elements than want, or another order.
func EqualSlices[S ~[]E, E comparable](t testing.TB, got, want S) {
	t.Helper()
	EqualSlicesf(t, got, want, "")
}

// EqualSlicesf is [EqualSlices] with what got is.
func EqualSlicesf[S ~[]E, E comparable](t testing.TB, got, want S, what string, args ...any) {
	if !slices.Equal(got, want) {
		t.Helper()
		fail(t, got, "want "+text(want), what, args)
	}
}

// Contains fails the test if got does not contain part.
func Contains(t testing.TB, got, part string) {
	t.Helper()
	Containsf(t, got, part, "")
}

// Containsf is [Contains] with what got is.
func Containsf(t testing.TB, got, part, what string, args ...any) {
	if !strings.Contains(got, part) {
		t.Helper()
		fail(t, got, "without "+text(part), what, args)
	}
}

// NotContains fails the test if got contains part.
func NotContains(t testing.TB, got, part string) {
	t.Helper()
	NotContainsf(t, got, part, "")
}

// NotContainsf is [NotContains] with what got is.
func NotContainsf(t testing.TB, got, part, what string, args ...any) {
	if strings.Contains(got, part) {
		t.Helper()
		fail(t, got, "with "+text(part), what, args)
	}
}

// NoError fails the test if err is an error.
func NoError(t testing.TB, err error) {
	if err != nil {
		t.Helper()
		t.Error(err)
	}
}

// ErrorIs fails the test if err is not target, as of [errors.Is].
func ErrorIs(t testing.TB, err, target error) {
	t.Helper()
	ErrorIsf(t, err, target, "")
}

// ErrorIsf is [ErrorIs] with what returned err.
func ErrorIsf(t testing.TB, err, target error, what string, args ...any) {
	if !errors.Is(err, target) {
		t.Helper()
		fail(t, err, "want "+text(target), what, args)
	}
}

// ErrorContains fails the test if err is nil, or its text does not contain part.
func ErrorContains(t testing.TB, err error, part string) {
	t.Helper()
	ErrorContainsf(t, err, part, "")
}

// ErrorContainsf is [ErrorContains] with what returned err.
func ErrorContainsf(t testing.TB, err error, part, what string, args ...any) {
	if err == nil || !strings.Contains(err.Error(), part) {
		t.Helper()
		fail(t, err, "without "+text(part), what, args)
	}
}

func fail(t testing.TB, got any, verdict, what string, args []any) {
	t.Helper()
	if what != "" {
		what = fmt.Sprintf(what, args...) + ": "
	}
	t.Errorf("%s%s, %s", what, text(got), verdict)
}

// text is a value as a person reads it: long texts stand below each other, and have an end.
func text(v any) string {
	s, ok := v.(string)
	switch {
	case !ok:
		s = fmt.Sprintf("%+v", v)
	case strings.Count(s, "\n") > 1:
		s = "\n" + s + "\n"
	default:
		s = fmt.Sprintf("%q", s)
	}
	if len(s) > 8<<10 {
		s = s[:8<<10] + fmt.Sprintf("… (of %d bytes)", len(s))
	}
	return s
}
