package output

import "testing"

func TestFirstLine(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"":                      "",
		"\n one\ttwo \r\nthree": "one two",
		"one\x1b[0m":            `one\x1b[0m`,
	} {
		equal(t, "the line", FirstLine(in), want)
	}
}

func TestShorten(t *testing.T) {
	t.Parallel()
	equal(t, "the text", Shorten("äöü", 3), "äöü")
	equal(t, "the text", Shorten("ab cdef", 4), "ab…")
	equal(t, "the text", Shorten("abc", 0), "…")
}
