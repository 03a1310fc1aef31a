package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/require"
)

// One file for each part of a row that can be changed by itself.
var changes = map[string][]string{
	"confinement": {
		"internal/sandbox/report.go", "internal/stage/stage.go", "internal/cgroup/group_linux.go", "internal/egress/proxy.go",
		"internal/confine/process_linux.go", "internal/protect/protect.go", "host/plugin/plugin.go", "plugins/fs/main.go",
		"internal/test/escape/table.go", "internal/test/worktest/doc.go", "plugins/execution/main.go", "plugins/internal/lines/lines.go",
		"internal/safefile/file.go", "go.mod",
	},
	"conformance":     {"host/mcpserver/server.go", "host/mcpclient/upstream.go", "host/task/memory.go", "cmd/toolhost/internal/control/routes.go", "cmd/toolhost/internal/mcphttp/requests.go", "internal/test/conformance/expected.yaml", "internal/test/mcptest/server.go", "go.mod"},
	"console":         {"cmd/toolhost/internal/console/page/app.js", "cmd/toolhost/internal/daemon/console.go", "cmd/toolhost/internal/activity/watch.go", "internal/test/browser/browser.go", "internal/test/console/console_test.go"},
	"execution":       {"plugins/execution/main.go", "plugins/internal/lines/lines.go", "go.mod"},
	"snippets":        {"docs/agents.md", "README.md", "examples/plugins/README.md", "internal/test/snippets/block.go"},
	"languages":       {"cmd/toolhost/internal/scaffold/templates/plugin.proto", "examples/plugins/python/plugin.py", "examples/plugins/README.md", "proto/toolhost/plugin/v1/plugin.proto", "internal/test/languages/calls_test.go", "internal/test/others/go.mod"},
	"vulnerabilities": {"go.mod", "go.sum"},
}

// repository is one with a commit, in which the test is then.
func repository(t *testing.T) {
	t.Helper()
	t.Chdir(t.TempDir())
	for _, v := range []string{"GIT_DIR", "GIT_INDEX_FILE", "GIT_WORK_TREE", "BASE"} { // as a hook of git has them
		t.Setenv(v, "")
		require.NoError(t, os.Unsetenv(v))
	}
	runs(t, "init", "-q")
	write(t, "README.md", "one")
	commit(t)
}

func runs(t *testing.T, args ...string) string {
	t.Helper()
	args = append([]string{"-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "commit.gpgsign=false"}, args...)
	cmd := exec.CommandContext(t.Context(), "git", args...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func write(t *testing.T, name, text string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o700))
	require.NoError(t, os.WriteFile(name, []byte(text), 0o600))
}

func commit(t *testing.T) string {
	t.Helper()
	runs(t, "add", "-A")
	runs(t, "commit", "-q", "-m", "m")
	return runs(t, "rev-parse", "HEAD")
}

func same(t *testing.T, when string, want ...string) {
	t.Helper()
	assert.EqualSlicesf(t, require.Must(stages())(t), want, "%s: stages", when)
}

// A change of each row's files, with and without a commit, brings back the row's stage and no other.
func TestStages(t *testing.T) {
	repository(t)
	base := runs(t, "rev-parse", "HEAD")
	all := make([]string, 0, len(table))
	for _, r := range table {
		all = append(all, r.stage)
	}
	same(t, "without origin/main and BASE", all...)
	runs(t, "update-ref", "refs/remotes/origin/main", "HEAD")
	same(t, "at origin/main", all...)

	write(t, "LICENSE", "two")
	second := commit(t)
	same(t, "after a change of the licence")
	t.Setenv("BASE", second)
	same(t, "if BASE is the newest commit", all...)
	t.Setenv("BASE", "0000000000000000000000000000000000000000") // what GitHub says of a new branch
	if got, err := stages(); err == nil {
		t.Errorf("without the commit of BASE: %q", got)
	}
	t.Setenv("BASE", base)
	for _, r := range table {
		for _, file := range changes[r.stage] {
			var want []string
			for _, r := range table {
				if slices.Contains(changes[r.stage], file) {
					want = append(want, r.stage)
				}
			}
			write(t, file, "new")
			same(t, file+", not committed", want...)
			commit(t)
			same(t, file, want...)
			runs(t, "reset", "-q", "--hard", second)
		}
	}
}

// A stage is a target of the Makefile that .ci/long runs, and each part of a row's pattern matches a
// file of the tree: the table would not notice that a folder was renamed.
func TestTable(t *testing.T) {
	t.Parallel()
	root := filepath.Join("..", "..", "..")
	makefile := require.Must(os.ReadFile(filepath.Join(root, "Makefile")))(t)
	long := require.Must(os.ReadFile(filepath.Join(root, ".ci", "long")))(t)
	for _, r := range table {
		if !regexp.MustCompile(`(?m)^` + r.stage + `:`).Match(makefile) {
			t.Errorf("the Makefile has no target %s", r.stage)
		}
		if !regexp.MustCompile(`(?m)^make .*\b` + r.stage + `\b`).Match(long) {
			t.Errorf(".ci/long does not run make %s", r.stage)
		}
		for _, file := range changes[r.stage] {
			if !r.files.MatchString(file) {
				t.Errorf("%s: %s does not bring it back", r.stage, file)
			}
			if _, err := os.Stat(filepath.Join(root, filepath.Dir(file))); err != nil {
				t.Errorf("%s: %v", r.stage, err)
			}
		}
	}
}

func TestAffected(t *testing.T) {
	t.Parallel()
	const listed = `
github.com/toolhost/toolhost/a
github.com/toolhost/toolhost/a.test github.com/toolhost/toolhost/a fmt
github.com/toolhost/toolhost/b github.com/toolhost/toolhost/a
github.com/toolhost/toolhost/b.test github.com/toolhost/toolhost/b github.com/toolhost/toolhost/a
github.com/toolhost/toolhost/plugins/fs
github.com/toolhost/toolhost/cmd/toolhost.test github.com/toolhost/toolhost/b
`
	for file, want := range map[string][]string{
		"a/a.go": {"a", "b"}, "b/testdata/deep/x.json": {"b", "cmd/toolhost"}, "b/b_test.go": {"b"}, "plugins/fs/fs_test.go": nil,
		"plugins/fs/read.go": {"cmd/toolhost"}, "docs/fleet.md": {"cmd/toolhost"}, "LICENSE": nil,
	} {
		var got []string
		for _, p := range affected([]string{file}, strings.TrimSpace(listed)) {
			got = append(got, strings.TrimPrefix(p, module+"/"))
		}
		assert.EqualSlicesf(t, got, want, "%s", file)
	}
}

// What builds programs or reads documents of others is in the list.
func TestAlso(t *testing.T) {
	t.Parallel()
	root := filepath.Join("..", "..", "..")
	files := strings.Fields(runs(t, "-C", root, "grep", "-lE", `(binaries\.(Build|Sources|Others)|registrytest\.New)\(`, "--", "*_test.go"))
	if len(files) < 5 {
		t.Errorf("%q build programs", files)
	}
	for _, f := range files {
		if dir := filepath.ToSlash(filepath.Dir(f)); also[dir] == nil && !strings.HasPrefix(dir, "examples/agent") {
			t.Errorf("%s builds programs: say in also which files they are made of", f)
		}
	}
}
