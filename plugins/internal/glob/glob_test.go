package glob

import (
	"path"
	"strings"
	"testing"
	"time"

	"github.com/toolhost/toolhost/internal/test/require"
)

func TestGlob(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		pattern, yes, no string // paths, separated by spaces
	}{
		{"*.go", "a.go x/y/b.go .go", "a.goo x.go/y"},
		{"src/*.go", "src/a.go", "src/x/a.go a.go x/src/a.go"},
		{"/*.go", "a.go", "x/a.go"},
		{"./*.go", "a.go", "x/a.go"},
		{"{./src,./lib}/*.go", "src/a.go lib/a.go", "a.go"},
		{"**/*.go", "a.go x/a.go x/y/a.go", "a.c"},
		{"src/**", "src/a src/a/b", "src srcs/a"},
		{"src/**/a", "src/a src/x/a src/x/y/a", "src/xa a"},
		{"a**b", "ab axxb", "a/b"},
		{"a?c", "abc aéc", "ac a/c abbc"},
		{"[a-c]x", "ax cx", "dx x"},
		{"[!a-c]x", "dx éx", "ax"},
		{"[^a]", "b", "a"},
		{"[]]", "]", "a"},
		{"[]-]", "] -", "\\"},
		{"[[:digit:]x]", "0 9 x", "a :"},
		{"[[:a]", "[ : a", "b"},
		{`\*`, "*", "a"},
		{`[\]]`, "]", `\`},
		{"*.{go,md}", "a.go b.md", "a.c a."},
		{"{a,b{c,d}}", "a bc bd", "b ac"},
		{"x{,y}", "x xy", "y"},
		{"{a}", "a", "{a}"},
		{`\{a,b\}`, "{a,b}", "a b"},
		{"[{]a", "{a", "a"},
		{"{src,lib}/*.go", "src/a.go lib/a.go", "a.go"},
		{"日?", "日本", "日"},
		{"?", "\xff", "\xff\xff"},
		{"\uFFFD", "\uFFFD", "\xff"},
	} {
		g, err := Compile(c.pattern)
		if err != nil {
			t.Errorf("%q: %v", c.pattern, err)
			continue
		}
		for _, p := range strings.Fields(c.yes) {
			if !g.Match(p) {
				t.Errorf("%q does not match %q", c.pattern, p)
			}
		}
		for _, p := range strings.Fields(c.no) {
			if g.Match(p) {
				t.Errorf("%q matches %q", c.pattern, p)
			}
		}
	}
}

func TestMalformed(t *testing.T) {
	t.Parallel()
	for pattern, want := range map[string]string{
		"[a":                        "a [ has no ]",
		"[a-":                       "a [ has no ]",
		"[[:digit:]":                "a [ has no ]",
		"[[:digits:]]":              "there is no class [:digits:]",
		"{a":                        "a { has no }",
		"a}":                        "a } has no {",
		`a\`:                        `it ends with a \`,
		strings.Repeat("{a,b}", 12): "more than 256 patterns",
		strings.Repeat("a", 5000):   "at most 4096 are allowed",
	} {
		if _, err := Compile(pattern); err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "malformed glob") {
			t.Errorf("%.20q: %v, want %q", pattern, err, want)
		}
	}
}

// Patterns that would take a backtracking matcher longer than a lifetime.
func TestMatchIsNotExponential(t *testing.T) {
	t.Parallel()
	start := time.Now()
	for _, pattern := range []string{strings.Repeat("*a", 100) + "b", strings.Repeat("**/a*/", 60) + "b"} {
		g := require.Must(Compile(pattern))(t)
		if g.Match(strings.Repeat("a", 4000)) || g.Match(strings.Repeat("a/", 2000)) {
			t.Errorf("%.20q matches", pattern)
		}
	}
	if took := time.Since(start); took > time.Minute {
		t.Errorf("took %v", took)
	}
}

// Without ** and braces, patterns mean what they mean to package path.
func FuzzMatch(f *testing.F) {
	f.Add("a*[b-d]?", "abcde")
	f.Add(`\*[!x]`, "*y")
	f.Fuzz(func(t *testing.T, pattern, name string) {
		g, err := Compile(pattern)
		if err != nil {
			return
		}
		got := g.Match(name)
		if strings.Contains(pattern, "**") || strings.ContainsAny(pattern, "{}[]!/\uFFFD") {
			return
		}
		name = name[strings.LastIndexByte(name, '/')+1:]
		if strings.Contains(strings.ToValidUTF8(name, "\uFFFD"), "\uFFFD") || strings.Contains(strings.ToValidUTF8(pattern, "\uFFFD"), "\uFFFD") {
			return
		}
		if want, err := path.Match(pattern, name); err == nil && got != want {
			t.Errorf("%q on %q: %t, path.Match says %t", pattern, name, got, want)
		}
	})
}
