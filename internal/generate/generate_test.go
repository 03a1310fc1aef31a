// Package generate has no code: its test holds the generated files to the
// sources that they are made of.
package generate

import (
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/internal/test/require"
)

// root is the repository's, as seen from this directory, where tests run.
const root = "../.."

// checked has the digests of what `make generate` has read, checked and written, as sha256sum
// prints them. buf is a large program to build, so that not every run of the tests can afford it.
const checked = "testdata/checked.sha256"

var update = flag.Bool("update", false, "write the digests: buf has just found nothing")

// contract returns the paths, from the root, of what buf reads and writes.
func contract(t *testing.T) (files []string) {
	t.Helper()
	for _, pattern := range []string{"buf.yaml", "buf.gen.yaml", "buf.gen.daemon.yaml", "proto/toolhost/*/v1/*", "internal/generate/testdata/*.json"} {
		found, err := fs.Glob(os.DirFS(root), pattern)
		if err != nil || len(found) == 0 {
			t.Fatalf("%s: %d files, %v", pattern, len(found), err)
		}
		files = append(files, found...)
	}
	return files
}

// The generated code is that of the contract, and the contract is one that buf has checked.
func TestContractIsChecked(t *testing.T) {
	t.Parallel()
	var have strings.Builder
	for _, name := range contract(t) {
		text := require.Must(os.ReadFile(filepath.Join(root, name)))(t)
		fmt.Fprintf(&have, "%x  %s\n", sha256.Sum256(text), name)
	}
	if *update {
		require.NoError(t, os.WriteFile(checked, []byte(have.String()), 0o600))
	}
	want := require.Must(os.ReadFile(checked))(t)
	for line := range strings.Lines(have.String()) {
		if _, name, _ := strings.Cut(strings.TrimSpace(line), "  "); !strings.Contains(string(want), line) {
			t.Errorf("%s has changed since buf checked the contract; run make generate", name)
		}
	}
}

// buf is the command that the Makefile names, where it runs this test.
func buf(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	words := strings.Fields(os.Getenv("TOOLHOST_BUF"))
	if len(words) == 0 {
		t.Skip("make contract runs this")
	}
	words = append(words, args...)
	cmd := exec.CommandContext(t.Context(), words[0], words[1:]...) //nolint:gosec // our own Makefile's words
	cmd.Dir = root
	return cmd
}

// released returns the paths of the released contracts, oldest first.
func released(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("testdata/v*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d released contracts: %v", len(files), err)
	}
	for i := range files {
		if files[i], err = filepath.Abs(files[i]); err != nil {
			t.Fatal(err)
		}
	}
	return files
}

// Plugins that were built against a released contract run on every later host. Each file in
// testdata is the contract of one release, made by `buf build --exclude-source-info -o FILE`.
// A change that breaks plugins which were built before is found in each released contract, and one that
// does not is let through.
func TestIncompatibleContractIsFound(t *testing.T) {
	t.Parallel()
	const contract = "proto/toolhost/plugin/v1/plugin.proto"
	text := require.Must(os.ReadFile(filepath.Join(root, contract)))(t)
	for name, c := range map[string]struct{ old, new, finds string }{
		"a field with another number": {"bytes arguments_json = 3;", "bytes arguments_json = 19;", "arguments_json"},
		"a field of another type":     {"bytes arguments_json = 3;", "int64 arguments_json = 3;", "arguments_json"},
		"a field with another name":   {"bytes arguments_json = 3;", "bytes arguments = 3;", "arguments"},
		"a field that is gone":        {"  bytes arguments_json = 3;\n", "", "ExecuteRequest"},
		"a method that is gone":       {"  rpc Execute(ExecuteRequest) returns (ExecuteResponse);\n", "", "Execute"},
		"a method that streams":       {"rpc Execute(ExecuteRequest)", "rpc Execute(stream ExecuteRequest)", "Execute"},
		"another package":             {"package toolhost.plugin.v1;", "package toolhost.plugin.v2;", "toolhost.plugin.v1"},
		"a new field":                 {"bytes arguments_json = 3;", "bytes arguments_json = 3;\n  string added = 1000;", ""},
		"a new method": {
			"  rpc Execute(ExecuteRequest)", "  rpc Added(DescribeRequest) returns (DescribeResponse);\n  rpc Execute(ExecuteRequest)", "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			changed := strings.Replace(string(text), c.old, c.new, 1)
			if changed == string(text) {
				t.Fatalf("the contract has no %q", c.old)
			}
			dir := t.TempDir()
			settings, err := os.ReadFile(filepath.Join(root, "buf.yaml"))
			if err == nil {
				err = errors.Join(
					os.MkdirAll(filepath.Join(dir, filepath.Dir(contract)), 0o700),
					os.WriteFile(filepath.Join(dir, contract), []byte(changed), 0o600),
					os.WriteFile(filepath.Join(dir, "buf.yaml"), settings, 0o600))
			}
			require.NoError(t, err)
			for _, against := range released(t) {
				msg, err := buf(t, "breaking", dir, "--against", against).CombinedOutput()
				if (err != nil) != (c.finds != "") || !strings.Contains(string(msg), c.finds) {
					t.Errorf("against %s: %v\n%s", against, err, msg)
				}
			}
		})
	}
}
