package worktest_test

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// helpers returns the directory of the programs that git starts.
func helpers(t *testing.T) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "git", "--exec-path").Output()
	if err != nil {
		t.Skip("git is not here")
	}
	return strings.TrimSpace(string(out))
}

// identity is what a commit needs where git's configuration cannot be read.
var identity = []string{"-c", "user.name=n", "-c", "user.email=n@example.test", "-c", "protocol.file.allow=always", "-c", "init.defaultBranch=main"}

func git(t *testing.T, p *place, line ...string) string {
	t.Helper()
	return p.run(t, append(append([]string{"git"}, identity...), line...)...)
}

func TestGit(t *testing.T) {
	t.Parallel()
	needs := &tool.Needs{Read: []string{"~/.gitconfig", "~/.config/git"}, Write: []string{tool.Workspace}, Exec: []string{"git", "sh", helpers(t)}}
	inBoxes(t, needs, func(t *testing.T, p *place) {
		p.file(t, "one/a.txt", "a\n")
		git(t, p, "init", "-q", "one")
		git(t, p, "-C", "one", "add", ".")
		git(t, p, "-C", "one", "commit", "-q", "-m", "first")
		git(t, p, "clone", "-q", "one", "two")
		git(t, p, "clone", "-q", "--no-local", "--bare", "one", "three")
		p.file(t, "two/b.txt", "b\n")
		git(t, p, "-C", "two", "add", "-A")
		git(t, p, "-C", "two", "commit", "-q", "-m", "second")
		git(t, p, "-C", "two", "push", "-q", p.root+"/three", "HEAD:main")
		git(t, p, "-C", "one", "pull", "-q", "--ff-only", p.root+"/three", "main")
		git(t, p, "-C", "one", "gc", "-q")
		git(t, p, "-C", "one", "stash", "list")
		git(t, p, "-C", "one", "worktree", "add", "-q", "../four")
		assert.Equalf(t, git(t, p, "-C", "one", "log", "--format=%s"), "second\nfirst\n", "log")
		git(t, p, "-C", "one", "fsck")
		p.refused(t, "true")
	})
}
