// Package generate has no code: its test holds the generated files to the
// sources that they are made of.
package generate

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
)

// root is the repository's, as seen from this directory, where tests run.
const root = "../.."

// buf is the command that `make generate` runs, version and all, so that the
// Makefile stays the one place that names it.
func buf(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	if testing.Short() {
		t.Skip("buf is a large program to build")
	}
	words, err := built()
	if err != nil {
		t.Fatal(err)
	}
	words = append(slices.Clone(words), args...)
	cmd := exec.CommandContext(t.Context(), words[0], words[1:]...) //nolint:gosec // our own Makefile's words
	cmd.Dir = root
	return cmd
}

// built has the go command build it once: tests that run it at the same time would each
// have built all of it, where its cache is empty.
var built = sync.OnceValues(func() ([]string, error) {
	makefile, err := os.ReadFile(filepath.Join(root, "Makefile"))
	if err != nil {
		return nil, err
	}
	line := regexp.MustCompile(`(?m)^BUF := (go run \S+/buf@v\S+)$`).FindSubmatch(makefile)
	if line == nil {
		return nil, errors.New("the Makefile has no line of the form: BUF := go run .../buf@vX.Y.Z")
	}
	words := strings.Fields(string(line[1]))
	if out, err := exec.Command(words[0], append(slices.Clone(words[1:]), "--version")...).CombinedOutput(); err != nil { //nolint:gosec // as above
		return nil, fmt.Errorf("%s: %w\n%s", line[1], err, out)
	}
	return words, nil
})

func TestGeneratedCodeIsFresh(t *testing.T) {
	t.Parallel()
	out := t.TempDir()
	if msg, err := buf(t, "generate", "-o", out).CombinedOutput(); err != nil {
		t.Fatalf("buf generate: %v\n%s", err, msg)
	}
	want, have := goFiles(t, out), goFiles(t, root)
	if len(want) == 0 {
		t.Fatal("buf generate made nothing")
	}
	for name := range want {
		if !bytes.Equal(want[name], have[name]) {
			t.Errorf("%s is not what plugin.proto gives; run make generate", name)
		}
	}
	for name := range have {
		if _, ok := want[name]; !ok {
			t.Errorf("%s is generated from nothing; remove it", name)
		}
	}
}

// goFiles are the generated files below dir/proto, by their path from dir.
func goFiles(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	err := filepath.WalkDir(filepath.Join(dir, "proto"), func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".pb.go") {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		files[name], err = os.ReadFile(path)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func TestProtoLint(t *testing.T) {
	t.Parallel()
	if msg, err := buf(t, "lint").CombinedOutput(); err != nil {
		t.Errorf("buf lint: %v\n%s", err, msg)
	}
}

// Plugins that were built against a released contract run on every later host.
// Each file in testdata is the contract of one release, made by
// `buf build --exclude-source-info -o FILE`.
func TestContractIsCompatible(t *testing.T) {
	t.Parallel()
	for _, against := range released(t) {
		if msg, err := buf(t, "breaking", "--against", against).CombinedOutput(); err != nil {
			t.Errorf("buf breaking against %s: %v\n%s", against, err, msg)
		}
	}
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

// A change that breaks plugins which were built before is found in each released contract, and one that
// does not is let through.
func TestIncompatibleContractIsFound(t *testing.T) {
	t.Parallel()
	const contract = "proto/toolhost/plugin/v1/plugin.proto"
	text, err := os.ReadFile(filepath.Join(root, contract))
	if err != nil {
		t.Fatal(err)
	}
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
			if err != nil {
				t.Fatal(err)
			}
			for _, against := range released(t) {
				msg, err := buf(t, "breaking", dir, "--against", against).CombinedOutput()
				if (err != nil) != (c.finds != "") || !strings.Contains(string(msg), c.finds) {
					t.Errorf("against %s: %v\n%s", against, err, msg)
				}
			}
		})
	}
}
