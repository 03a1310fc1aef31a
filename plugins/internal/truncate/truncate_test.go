package truncate

import (
	"strings"
	"testing"

	"github.com/toolhost/toolhost/internal/test/assert"
)

func TestText(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		s          string
		characters int
		want       string
	}{
		{"", 0, ""}, {"abc", 3, "abc"}, {"abcd", 3, "abc\n" + Mark}, {"日本語", 2, "日本\n" + Mark}, {"日本", 2, "日本"},
		{"ab\ncd", 3, "ab\n" + Mark}, {"a", 0, Mark}, {"\xff\xfex", 2, "\xff\xfe\n" + Mark}, {"\xe6\x97", 1, "\xe6\n" + Mark},
	} {
		got, was := Text(c.s, c.characters)
		if got != c.want || was != strings.HasSuffix(c.want, Mark) {
			t.Errorf("Text(%q, %d) = %q, %t", c.s, c.characters, got, was)
		}
	}
}

func TestBytes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		s    string
		size int
		want string
	}{
		{"abc", 3, "abc"}, {"abcd", 3, "abc\n" + Mark}, {"a\nbc", 2, "a\n" + Mark}, {"日本", 5, "日\n" + Mark}, {"日", 2, Mark}, {"", 0, ""},
		{strings.Repeat("\x80", 9), 8, strings.Repeat("\x80", 4) + "\n" + Mark},
	} {
		got, was := Bytes(c.s, c.size)
		if got != c.want || was != strings.HasSuffix(c.want, Mark) {
			t.Errorf("Bytes(%q, %d) = %q, %t", c.s, c.size, got, was)
		}
	}
}

func TestCounted(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		s    string
		size int
		want string
	}{
		{"abc", 3, "abc"}, {"abcd", 3, "abc\n[... 1 more bytes truncated ...]"},
		{"日本", 5, "日\n[... 3 more bytes truncated ...]"}, {"\xff", 3, "\uFFFD"},
	} {
		assert.Equalf(t, Counted(c.s, c.size), c.want, "Counted(%q, %d)", c.s, c.size)
	}
}
