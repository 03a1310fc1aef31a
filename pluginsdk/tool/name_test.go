package tool

import (
	"regexp"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/internal/ident"
)

// The rules as regular expressions.
var rules = []struct {
	pattern string
	valid   func(string) bool
}{
	{`^[A-Za-z0-9_.-]{1,128}$`, func(s string) bool { return ident.Spells(s, ident.MaxTool, "_.-") }},
	{`^[A-Za-z0-9_.:-]{1,64}$`, func(s string) bool { return ident.Spells(s, maxCategoryLength, "_.:-") }},
	{`^[a-z][a-z0-9_-]{0,31}(:[a-z][a-z0-9_-]{0,31})?$`, func(s string) bool { return Capability(s).Valid() }},
}

func FuzzNames(f *testing.F) {
	for _, s := range []string{
		"", "a", "fs.read", "fs:read", "a-b_c.d:e", "A", "9", "-", "_", ".", ":",
		"a:", ":a", "a:b:c", "a:9", "9:a", "é", "a\n", "\na", "a b", "a\x00", "z{", "@[`",
		strings.Repeat("a", 32), strings.Repeat("a", 33),
		strings.Repeat("a", 32) + ":" + strings.Repeat("b", 32), "a:" + strings.Repeat("b", 33),
		strings.Repeat("a", 64), strings.Repeat("a", 65), strings.Repeat("a", 128), strings.Repeat("a", 129),
	} {
		f.Add(s)
	}
	var patterns []*regexp.Regexp
	for _, r := range rules {
		patterns = append(patterns, regexp.MustCompile(r.pattern))
	}
	f.Fuzz(func(t *testing.T, s string) {
		for i, r := range rules {
			if got, want := r.valid(s), patterns[i].MatchString(s); got != want {
				t.Errorf("%q: %v, but %s says %v", s, got, r.pattern, want)
			}
		}
	})
}
