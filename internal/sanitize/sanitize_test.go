package sanitize

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/toolhost/toolhost/internal/test/assert"
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
		assert.Equalf(t, Line(c.in, c.limit), c.want, "Line(%q, %d)", c.in, c.limit)
	}
	assert.Equalf(t, Quote("say \"hi\"\n", 50), `"say \"hi\""`, "Quote gives")
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
		assert.Equalf(t, Text(in), want, "Text(%q)", in)
	}
}

// FuzzLine: whatever a stranger says, it is shown as printable text of the length
// that was asked for, and what is fit to be shown stays as it is.
func FuzzLine(f *testing.F) {
	f.Add("plain", 10)
	f.Add("\x1b]0;title\x07\xff\u202e", 3)
	f.Add("two\tcolumns \"quoted\"\r\n", 0)
	f.Add("\xc3\x28 \xf0\x9f\x98\x80 \xed\xa0\x80 \u200b\u00a0\U000e0001\ufffd", 7)
	f.Add("\u009b1m\u2028\u2029 世界 schön", 12)
	f.Add("aä", 2)
	f.Add(strings.Repeat("\xff", 100), 99)
	f.Fuzz(func(t *testing.T, s string, limit int) {
		line, whole := Line(s, limit), Line(s, 0)
		if !fit(line, "") || !fit(whole, "") {
			t.Errorf("Line(%q, %d) = %q, %q without a limit", s, limit, line, whole)
		}
		if limit <= 0 && line != whole || limit > 0 && len(line) > limit+len(ellipsis) {
			t.Errorf("Line(%q, %d) has %d bytes", s, limit, len(line))
		}
		if rest, ok := strings.CutSuffix(line, ellipsis); line != whole && (!ok || !strings.HasPrefix(whole, rest)) {
			t.Errorf("Line(%q, %d) = %q, which is not a prefix of %q", s, limit, line, whole)
		}
		if r, found := Hidden(Text(s)); found {
			t.Errorf("Text(%q) hides %U", s, r)
		}
		if text := Text(s); !fit(text, "\n\t") || Text(text) != text || strings.Count(text, "\n") != strings.Count(s, "\n") {
			t.Errorf("Text(%q) = %q", s, text)
		}
		if _, hides := Hidden(s); fit(s, "") && !hides && (whole != s || Text(s) != s) {
			t.Errorf("%q became %q, %q", s, whole, Text(s))
		}
		quoted := Quote(s, limit)
		inner := strings.ReplaceAll(strings.TrimSuffix(strings.TrimPrefix(quoted, `"`), `"`), `\"`, "")
		if !fit(quoted, "") || len(quoted) < 2 || strings.Contains(inner, `"`) || limit > 0 && len(quoted) > 2*(limit+len(ellipsis))+2 {
			t.Errorf("Quote(%q, %d) = %s", s, limit, quoted)
		}
	})
}

// fit reports whether a text is printable, apart from what else it may have.
func fit(s, also string) bool {
	return utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) && !strings.ContainsRune(also, r) })
}
