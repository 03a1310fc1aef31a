package sanitize

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func TestLine(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		in    string
		limit int
		want  string
	}{
		{"plain", 0, "plain"},
		{"two\tcolumns", 0, "two columns"},
		{"a\x1b[31mred\x07", 0, `a\x1b[31mred\a`},
		{"one\ntwo\r", 0, `one\ntwo\r`},
		{"bad \xff byte", 0, `bad \xff byte`},
		{"right\u202eleft", 0, `right\u202eleft`}, // would show what follows backwards
		{"schön ✓", 0, "schön ✓"},
		{"abcdef", 3, "abc…"},
		{"aäb", 2, "a…"},
		{"", 5, ""},
	} {
		if got := Line(c.in, c.limit); got != c.want {
			t.Errorf("Line(%q, %d) = %q, want %q", c.in, c.limit, got, c.want)
		}
	}
	if got := Quote("say \"hi\"\n", 50); got != `"say \"hi\""` {
		t.Errorf("Quote gives %s", got)
	}
}

func TestText(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"plain, é, 世界\n\tline": "plain, é, 世界\n\tline",
		"\x1b[2J":              `\x1b[2J`,
		"a\rb":                 `a\rb`,
		"\u202egnp.exe":        `\u202egnp.exe`,
		"bad \xff byte":        `bad \xff byte`,
		"\ufffd":               "\ufffd",
		"\u009b":               `\u009b`,
	} {
		if got := Text(in); got != want {
			t.Errorf("Text(%q) = %q, want %q", in, got, want)
		}
	}
}

func FuzzLine(f *testing.F) {
	f.Add("plain", 10)
	f.Add("\x1b]0;title\x07\xff\u202e", 3)
	f.Fuzz(func(t *testing.T, s string, limit int) {
		got := Line(s, limit)
		if !utf8.ValidString(got) || strings.ContainsFunc(got, func(r rune) bool { return !unicode.IsPrint(r) }) {
			t.Errorf("Line(%q, %d) = %q", s, limit, got)
		}
		if limit > 0 && len(got) > limit+len(ellipsis) {
			t.Errorf("Line(%q, %d) has %d bytes", s, limit, len(got))
		}
	})
}
