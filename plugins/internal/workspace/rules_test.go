package workspace

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/plugins/internal/ignore"
	"github.com/toolhost/toolhost/plugins/internal/workspacetest"
)

// files lists all but directories, with git's rules.
func files(t *testing.T, ws *Workspace, dir string) []string {
	t.Helper()
	l := mustList(t, ws, dir, WalkOptions{Recursive: true, Ignore: GitRules()})
	return paths(slices.DeleteFunc(l, func(e Entry) bool { return e.Kind == Dir }))
}

// Git itself says what a listing of a repository has.
func TestListAsGitDoes(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("there is no git here to compare with")
	}
	ws, root, _ := space(t)
	git := func(args ...string) string {
		cmd := exec.Command("git", append([]string{"-c", "core.excludesFile="}, args...)...)
		cmd.Dir = root
		cmd.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL="+os.DevNull)
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("git %v: %v", args, err)
		}
		return string(out)
	}
	git("init", "-q")
	for name, content := range map[string]string{
		".gitignore": "*.log\n/build/\n!keep.log\nvendor/*\n!vendor/own", "a.go": "", "a.log": "", "keep.log": "", "build/x": "", "src/build/x": "",
		"vendor/x/y": "", "vendor/own/z": "", "src/.gitignore": "keep.log\n/gen\n**/deep/*.txt", "src/keep.log": "", "src/gen/a": "", "src/x/gen/a": "",
		"src/deep/a.txt": "", "src/p/q/deep/a.txt": "", "src/p/q/deep/a.go": "", ".git/info/exclude": "private\n", "private": "", "src/private/x": "",
		"src/x/.gitignore": "!keep.log", "src/x/keep.log": "",
	} {
		workspacetest.WriteFile(t, filepath.Join(root, name), content)
	}
	want := strings.FieldsFunc(git("ls-files", "--others", "--exclude-standard", "-z"), func(c rune) bool { return c == 0 })
	slices.Sort(want)
	if got := files(t, ws, "."); !slices.Equal(got, want) || len(got) < 8 {
		t.Errorf("listed %q, git lists %q", got, want)
	}
	below := slices.DeleteFunc(slices.Clone(want), func(p string) bool { return !strings.HasPrefix(p, "src/x/") })
	if got := files(t, ws, "src/x"); !slices.Equal(got, below) {
		t.Errorf("below src/x: %q, git lists %q", got, below)
	}
}

func TestRulesEndAtARepository(t *testing.T) {
	t.Parallel()
	ws, root, _ := space(t)
	for name, content := range map[string]string{".gitignore": "*.log\n/gone", "module/.git": "gitdir: elsewhere", "module/a.log": "", "plain/a.log": "", "gone/.git/x": "", "gone/x": ""} {
		workspacetest.WriteFile(t, filepath.Join(root, name), content)
	}
	assert.EqualSlicesf(t, files(t, ws, "."), []string{".gitignore", "module/a.log"}, "listed")
}

// A workspace is not trusted: .gitignore may be anything.
func TestRulesThatAreNoFile(t *testing.T) {
	t.Parallel()
	ws, root, outside := space(t)
	workspacetest.WriteFile(t, filepath.Join(outside, "rules"), "*")
	workspacetest.WriteFile(t, filepath.Join(root, "in", "real"), "*")
	workspacetest.WriteFile(t, filepath.Join(root, "dir", ".gitignore", "x"), "")
	mkdir(t, filepath.Join(root, "out"))
	workspacetest.Symlink(t, "../../outside/rules", filepath.Join(root, "out", ".gitignore"))
	workspacetest.Symlink(t, "real", filepath.Join(root, "in", ".gitignore"))
	workspacetest.WriteFile(t, filepath.Join(root, "huge", ".gitignore"), "a\n"+strings.Repeat("#", ignore.MaxSize)+"\nb\n")
	workspacetest.WriteFile(t, filepath.Join(root, "huge", "a"), "")
	workspacetest.WriteFile(t, filepath.Join(root, "huge", "b"), "")
	want := []string{"dir/.gitignore/x", "huge/.gitignore", "huge/b", "in/.gitignore", "in/real", "out/.gitignore"}
	assert.EqualSlicesf(t, files(t, ws, "."), want, "listed")
}

func TestWalkEnds(t *testing.T) {
	t.Parallel()
	ws, _ := tree(t)
	broken := errors.New("broken")
	for at, end := range map[string]error{"a/c/d": broken, "a/b": ErrEnough} {
		var last string
		_, err := ws.Walk(t.Context(), ".", deep, func(e Entry) error {
			if last = e.Path; e.Path == at {
				return end
			}
			return nil
		})
		if last != at || errors.Is(err, broken) != errors.Is(end, broken) || errors.Is(err, ErrEnough) {
			t.Errorf("ended at %s: %v", last, err)
		}
	}
	l := mustList(t, ws, ".", WalkOptions{Recursive: true, SkipHidden: true})
	if slices.ContainsFunc(l, func(e Entry) bool { return strings.Contains("/"+e.Path, "/.") }) {
		t.Errorf("hidden: %q", paths(l))
	}
}

func TestEscape(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{"a/é": "a/é", "caf\xe9/x": `caf\xe9/x`, "\xff\xfe": `\xff\xfe`, "\uFFFD": "\uFFFD"} {
		if got, escaped := Escape(given); got != want || escaped != (got != given) {
			t.Errorf("Escape(%q) = %q, %t", given, got, escaped)
		}
	}
}
