// Package languages builds the plugins in examples/plugins as their authors do, and has a host run
// them. Each is written in another language, from docs/plugin-protocol.md and plugin.proto alone.
package languages

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// name is what the plugins are called.
const name = "notes"

// modulesVariable names the directory into which make languages has put npm's packages.
const modulesVariable = "TOOLHOST_NODE_MODULES"

// A language is how plugins are built in it.
type language struct {
	// source is the file that an author writes.
	source string
	// needs says what is missing on this machine to build and run it; empty: nothing.
	needs func() string
	// prepare puts into the directory what a build would get from the network; may be nil.
	prepare func(dir string) error
	// build are arguments of make.
	build []string
}

var languages = map[string]language{
	"python": {source: "plugin.py", needs: needsPython},
	"node": {
		source: "plugin.mjs",
		needs:  needsNode,
		prepare: func(dir string) error {
			return os.Symlink(os.Getenv(modulesVariable), filepath.Join(dir, "node_modules"))
		},
		build: []string{"-o", "node_modules"},
	},
}

func needsPython() string {
	if out, err := exec.Command("/usr/bin/python3", "-c", "import grpc, google.protobuf").CombinedOutput(); err != nil {
		return "/usr/bin/python3 with grpcio and protobuf (on Debian: python3-grpcio python3-protobuf): " + err.Error() + "\n" + string(out)
	}
	return needsPrograms("make", "protoc")
}

func needsNode() string {
	if os.Getenv(modulesVariable) == "" {
		return "packages from npm: run make languages"
	}
	return needsPrograms("make", "node")
}

func needsPrograms(names ...string) string {
	for _, name := range names {
		if _, err := exec.LookPath(name); err != nil {
			return err.Error()
		}
	}
	return ""
}

// inEach runs a test with the plugin of each language that this machine can build.
func inEach(t *testing.T, test func(t *testing.T, l language, project string)) {
	t.Helper()
	for name, l := range languages {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if runtime.GOOS == "windows" {
				t.Skip("the examples are scripts with a line that names their interpreter")
			}
			if missing := l.needs(); missing != "" {
				t.Skip("needs " + missing)
			}
			test(t, l, project(t, name, l))
		})
	}
}

// project copies an example, links resolved, to where it can be built.
func project(t *testing.T, name string, l language) string {
	t.Helper()
	from, to := filepath.Join("../../../examples/plugins", name), t.TempDir()
	files, err := os.ReadDir(from)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if f.IsDir() {
			continue // what was built there
		}
		text, err := os.ReadFile(filepath.Join(from, f.Name()))
		if err == nil {
			err = os.WriteFile(filepath.Join(to, f.Name()), text, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if l.prepare != nil {
		if err := l.prepare(to); err != nil {
			t.Fatal(err)
		}
	}
	return to
}

// run runs make in a project.
func (l language) run(t *testing.T, dir string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "make", append(append([]string{}, l.build...), args...)...) //nolint:gosec // of this test
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("make %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// The example is one file that a person reads in a few minutes.
func TestExamplesAreShort(t *testing.T) {
	t.Parallel()
	for name, l := range languages {
		text, err := os.ReadFile(filepath.Join("../../../examples/plugins", name, l.source))
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
		if len(lines) > 80 {
			t.Errorf("%s has %d lines", l.source, len(lines))
		}
		for i, line := range lines {
			if len(line) > 120 {
				t.Errorf("%s:%d has %d columns", l.source, i+1, len(line))
			}
		}
	}
}

// The project's own tests pass, and two builds give the same bytes.
func TestProjects(t *testing.T) {
	t.Parallel()
	inEach(t, func(t *testing.T, l language, dir string) {
		l.run(t, dir, "test")
		file := filepath.Join(dir, "bin", name)
		first, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
		l.run(t, dir, "build")
		if second, err := os.ReadFile(file); err != nil || string(first) != string(second) {
			t.Errorf("another build gives other bytes (%v)", err)
		}
		l.run(t, dir, "help")
	})
}
