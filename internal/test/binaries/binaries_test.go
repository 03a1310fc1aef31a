package binaries_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/toolhost/toolhost/internal/test/binaries"
	"github.com/toolhost/toolhost/internal/test/require"
)

// In a copy of the module, a test that passed is not repeated, and is after a change of one of the
// files of each kind that its programs are made of.
func TestChangesAreSeen(t *testing.T) { //nolint:paralleltest // it compiles with all processors
	if testing.Short() {
		t.Skip("it compiles for a minute: .ci/long runs it")
	}
	dir := checkout(t)
	passes := func(pkg, run string) (cached bool) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "go", "test", "-vet=off", "-short", "-run", run, pkg)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		if err != nil || strings.Contains(string(out), "no tests to run") {
			t.Fatalf("%s in %s: %v\n%s", run, pkg, err, out)
		}
		return strings.Contains(string(out), "(cached)")
	}
	for _, c := range []struct{ pkg, run, file, what string }{
		{"./cmd/toolhost", "^TestCallReadsAFile$", "plugins/fs/main.go", "a plugin"},
		{"./cmd/toolhost", "^TestCallReadsAFile$", "cmd/toolhost/testdata/away/main.go", "a program of the tests"},
		{"./cmd/toolhost", "^TestCallReadsAFile$", "plugins/internal/lines/scanner.go", "what a plugin imports"},
		{"./cmd/toolhost", "^TestCallReadsAFile$", "go.sum", "the modules"},
		{"./internal/test/worktest", "^TestShippedFiles$", "plugins/buffer/main.go", "a plugin"},
		{"./internal/test/escape", "^TestLevelNone$", "internal/test/escape/probe/main_linux.go", "the probe"},
		{"./examples/both", ".", "examples/both/main.go", "an example"},
		{"./host", "^TestReadmePlugin$", "pluginsdk/func.go", "the SDK"},
		{"./host", "^TestImportsPointDown$", "cmd/toolhost/main.go", "a package of the module"},
	} {
		path := filepath.Join(dir, c.file)
		text := require.Must(os.ReadFile(path))(t)
		_ = passes(c.pkg, c.run) // which has built, so that no result is kept
		if _ = passes(c.pkg, c.run); !passes(c.pkg, c.run) {
			t.Errorf("%s of %s is repeated though nothing has changed", c.run, c.pkg)
		}
		if c.file == "go.sum" {
			text = append(text, "example.org/none v1.0.0 h1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n"...)
		} else {
			text = append(text, "\n// changed\n"...)
		}
		require.NoError(t, os.WriteFile(path, text, 0o600))
		if passes(c.pkg, c.run) {
			t.Errorf("%s of %s is not repeated after a change of %s (%s)", c.run, c.pkg, c.what, c.file)
		}
	}
}

// checkout is a copy of what git knows. Its files are not new: Go keeps no result that a file of the
// last seconds had a part in.
func checkout(t *testing.T) string {
	t.Helper()
	root, dir := require.Must(binaries.Root())(t), t.TempDir()
	out := require.Must(exec.CommandContext(t.Context(), "git", "-C", root, "ls-files", "-z").Output())(t)
	past := time.Now().Add(-time.Hour)
	for _, name := range strings.Split(strings.TrimRight(string(out), "\x00"), "\x00") {
		text, err := os.ReadFile(filepath.Join(root, name))
		if os.IsNotExist(err) {
			continue // it is deleted
		}
		require.NoError(t, err)
		to := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(to), 0o700))
		require.NoError(t, os.WriteFile(to, text, 0o600))
		require.NoError(t, os.Chtimes(to, past, past))
	}
	require.NoError(t, exec.CommandContext(t.Context(), "git", "-C", dir, "init", "-q").Run())
	require.NoError(t, exec.CommandContext(t.Context(), "git", "-C", dir, "add", "-A").Run())
	return dir
}

// No other test builds programs of this module by itself: Go would keep its result when they change.
func TestOneBuilds(t *testing.T) {
	t.Parallel()
	root := require.Must(binaries.Root())(t)
	const builds = `exec\.Command(Context)?\(.*"go", "(build|install|run)"`
	out, _ := exec.CommandContext(t.Context(), "git", "-C", root, "grep", "-lE", builds, "--", "*_test.go").Output()
	allowed := map[string]string{
		"cmd/toolhost/snippets_linux_test.go":                       "what a document shows",
		"cmd/toolhost/dev_run_reattach_test.go":                     "a project that the test writes",
		"host/readme_test.go":                                       "what README shows; it names the SDK as a source",
		"host/first_sdk_test.go":                                    "an archive of the first SDK",
		"plugins/introspection/internal/tools/gopls_client_test.go": "gopls",
		"internal/test/conformance/mounted_test.go":                 "programs of other modules",
		"internal/test/worktest/embedded_linux_test.go":             "what a document shows, and another module",
		"internal/test/binaries/binaries_test.go":                   "this pattern",
	}
	for _, f := range strings.Fields(string(out)) {
		if allowed[f] == "" {
			t.Errorf("%s builds programs without package binaries", f)
		}
	}
}
