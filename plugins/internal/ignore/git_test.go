package ignore

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/plugins/internal/workspacetest"
)

// repository is a git repository that git answers questions about.
type repository struct{ dir string }

func newRepository(t *testing.T) repository {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("there is no git here to compare with")
	}
	r := repository{t.TempDir()}
	if out, err := r.git("", "init", "-q"); err != nil {
		t.Fatalf("git init: %v: %s", err, out)
	}
	return r
}

func (r repository) git(input string, args ...string) ([]byte, error) {
	cmd := exec.Command("git", append([]string{"-c", "core.excludesFile=", "-c", "core.ignoreCase=false"}, args...)...)
	cmd.Dir = r.dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL="+os.DevNull)
	cmd.Stdin = strings.NewReader(input)
	return cmd.Output()
}

// ignored asks git which of the paths it leaves out.
func (r repository) ignored(t *testing.T, paths []string) []string {
	t.Helper()
	out, err := r.git(strings.Join(paths, "\x00")+"\x00", "check-ignore", "--no-index", "--stdin", "-z")
	var exit *exec.ExitError
	if err != nil && (!errors.As(err, &exit) || exit.ExitCode() != 1) { // 1: none
		t.Fatalf("git check-ignore: %v", err)
	}
	return strings.FieldsFunc(string(out), func(c rune) bool { return c == 0 })
}

// files and the directories that they are in make up the tree of the tests.
var files = []string{
	"a", "b", "a.go", "a.b.go", "ab", "foo", "foo bar", "foo ", "#x", "!x", "a*b", `a\b`, "é", "[a]", "a]", "-",
	"x/a", "x/b", "x/a.go", "x/foo", "x/y/a", "x/y/a.go", "x/y/z/foo", "x/y/z/b", "bar/a/b", "bar/foo/x/a", "ax/y/b", "ab/c",
	"foo/bar", "foobar", "A", "1", "x/1",
}

// tree lists the paths of the tests; dirs has those that are directories.
func tree() (paths []string, dirs map[string]bool) {
	dirs = map[string]bool{}
	for _, f := range files {
		for d := path.Dir(f); d != "."; d = path.Dir(d) {
			dirs[d] = true
		}
	}
	for _, f := range files {
		if !dirs[f] {
			paths = append(paths, f)
		}
	}
	for d := range dirs {
		paths = append(paths, d)
	}
	slices.Sort(paths)
	return paths, dirs
}

// ours is what the rules leave out, directories above included.
func ours(scopes map[string]*Scope, paths []string, dirs map[string]bool) []string {
	var out []string
	gone := map[string]bool{}
	for _, p := range paths { // sorted, so that directories come before what is in them
		gone[p] = gone[path.Dir(p)] || scopes[path.Dir(p)].Ignored(p, dirs[p])
		if gone[p] {
			out = append(out, p)
		}
	}
	return out
}

// scopes are those of each directory, with rules in some.
func scopes(rules map[string]string, paths []string, dirs map[string]bool) map[string]*Scope {
	out := map[string]*Scope{}
	for _, d := range append([]string{"."}, paths...) {
		if d != "." && !dirs[d] {
			continue
		}
		sets := []Set{{Git: true}}
		if content, ok := rules[d]; ok {
			sets[0].Rules = Parse(d, []byte(content))
		}
		var up *Scope
		if d != "." {
			up = out[path.Dir(d)]
		}
		out[d] = up.Below(sets, d == ".")
	}
	return out
}

// check compares with git for rules in the files of some directories.
func (r repository) check(t *testing.T, rules map[string]string) {
	t.Helper()
	paths, dirs := tree()
	for d, content := range rules {
		workspacetest.WriteFile(t, filepath.Join(r.dir, d, ".gitignore"), content)
	}
	want, got := r.ignored(t, paths), ours(scopes(rules, paths, dirs), paths, dirs)
	for _, p := range paths {
		if w, g := slices.Contains(want, p), slices.Contains(got, p); w != g {
			t.Errorf("rules %q: %q is ignored: git says %t, we %t", rules, p, w, g)
		}
	}
	for d := range rules {
		require.NoError(t, os.Remove(filepath.Join(r.dir, d, ".gitignore")))
	}
}

func (r repository) plant(t *testing.T) {
	t.Helper()
	paths, dirs := tree()
	for _, p := range paths {
		if !dirs[p] {
			workspacetest.WriteFile(t, filepath.Join(r.dir, p), "")
		}
	}
}

func TestRulesAsGitReadsThem(t *testing.T) {
	t.Parallel()
	r := newRepository(t)
	r.plant(t)
	for _, rules := range []string{
		"", "\n\n", "#a", `\#x`, "!a", `\!x`, "a", "/a", "a/", "x/", "/x/", "x/a", "/x/a", "x/*", "x/**", "**/a", "**/foo", "**",
		"*", "*\n!a", "*\n!x\n!x/a", "*\n!*/\n!*.go", "x\n!x/a", "foo ", `foo\ `, "foo bar", "foo   ", "a\r\nb\r\n", "\r\n", "a\t",
		"\uFEFFa", "[ab]", "[!a]", "[^a]", "[a-b]*", "[]]", "a[]]", "[[:alpha:]]", "[[:digit:]]", "x/[[:digit:]]", "[[:nope:]]", "[a", "a[", `a\`, `a\*b`,
		`a\\b`, "a*b", "?", "??", "é", "[é]", "x/**/a", "x/**/b", "**/y/**", "a**/b", "a**", "**b", "x**a", "bar/**/a", "bar/*/a", "*/a", "*/*/a",
		"x/y/", "x/y/z/", "/", "//", "//a", "a//", "x//a", "/**", "/**/", "**/", "x/**/", "***/a", "x/***/a", "x/***", "foo/*", "foo/ba/", "x/y/z/fo/",
		`\a`, `x\/a`, `**\/a`, "x/[!a]", "x[/]a", "x?a", "*.go\n!a.go\na.*", "!*", "-", "[a-]", "[-a]", `[\]]`, `\[a\]`, "[[]a]", "[[:a]", "[]-a]", "A", "[A-Z]", "[[:upper:]]",
		"[a-c-e]", "[a\\-c]", "!", "!!a", "*\n!!a", " a", "x/ ", "foo/bar\n!foo/bar", "foo/\n!foo/bar", "foo/*\n!foo/bar",
	} {
		r.check(t, map[string]string{".": rules})
		r.check(t, map[string]string{"x": rules})
	}
}

func TestRulesOfNestedDirectories(t *testing.T) {
	t.Parallel()
	r := newRepository(t)
	r.plant(t)
	for _, rules := range []map[string]string{
		{".": "*.go", "x": "!a.go"},
		{".": "*.go", "x": "!a.go", "x/y": "a.go"},
		{".": "!x/a.go", "x": "*.go"},
		{".": "x/y/", "x": "!y/"},
		{".": "x/", "x": "!a"},
		{".": "a", "x": "!/a", "x/y": "!a"},
		{"x": "/y/a", "x/y": "z"},
		{"x": "x/a"},
	} {
		r.check(t, rules)
	}
}

func TestRulesDrawnAtRandom(t *testing.T) {
	t.Parallel()
	r := newRepository(t)
	r.plant(t)
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	draw := rand.New(rand.NewPCG(seed, 0))
	parts := []string{"a", "b", "x", "y", "foo", ".go", "/", "/", "*", "**", "**/", "/**", "?", "[ab]", "[!a]", "!", `\`, " ", "bar", "z", "-", "]"}
	line := func() string {
		var b strings.Builder
		for range 1 + draw.IntN(5) {
			b.WriteString(parts[draw.IntN(len(parts))])
		}
		return b.String()
	}
	for range 150 {
		rules := map[string]string{}
		for _, d := range []string{".", "x", "x/y"}[:1+draw.IntN(3)] {
			var lines []string
			for range 1 + draw.IntN(4) {
				lines = append(lines, line())
			}
			rules[d] = strings.Join(lines, "\n")
		}
		r.check(t, rules)
	}
}

func TestTheFirstPartOfAHugeFileCounts(t *testing.T) {
	t.Parallel()
	rules := Parse(".", bytes.Repeat([]byte("a\n"), MaxSize))
	if n := len(rules.rules); n != MaxSize/2 {
		t.Errorf("%d rules", n)
	}
	if _, decided := Parse(".", fmt.Appendf(nil, "%s\n", strings.Repeat("*", 10_000))).Match("a", false); decided {
		t.Error("a pattern that is too long matches")
	}
}
