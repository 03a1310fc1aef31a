// Package languages begins a plugin in each language as an author does, with toolhost dev new,
// builds and tests it, and has a host run it. The projects in Python and Node are the ones in
// examples/plugins.
package languages

import (
	"flag"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/binaries"
	"github.com/toolhost/toolhost/internal/test/require"
)

// update has TestExamplesAreFresh write the examples.
var update = flag.Bool("update", false, "write examples/plugins")

const (
	// name is what the plugins are called.
	name = "notes"
	// modulesVariable names the directory into which make languages has put npm's packages.
	modulesVariable = "TOOLHOST_NODE_MODULES"
	examples        = "../../../examples/plugins"
)

// A language is how plugins are built in it.
type language struct {
	// example is the file of examples/plugins/LANGUAGE that an author writes, and library the one that it is
	// made with; empty: there is no such example.
	example, library string
	// needs says what is missing on this machine to build and run it; empty: nothing.
	needs func() string
	// prepare puts into the directory what a build would get from the network, and returns
	// arguments of make that have it used; may be nil.
	prepare func(dir string) ([]string, error)
}

var languages = map[string]language{
	"go":     {needs: func() string { return needsPrograms("make") }},
	"python": {example: "plugin.py", library: "toolhost.py", needs: needsPython},
	"node":   {example: "plugin.mjs", library: "toolhost.mjs", needs: needsNode, prepare: prepareNode},
}

// command is the path of the command.
func command(t *testing.T) string {
	t.Helper()
	return filepath.Join(binaries.Build(t, "cmd/toolhost"), "toolhost")
}

func prepareNode(dir string) ([]string, error) {
	return []string{"-o", "node_modules"}, os.Symlink(os.Getenv(modulesVariable), filepath.Join(dir, "node_modules"))
}

func needsNode() string {
	if os.Getenv(modulesVariable) == "" {
		return "npm's packages: run make languages"
	}
	return needsPrograms("make", "node")
}

func needsPython() string {
	if out, err := exec.Command("/usr/bin/python3", "-c", "import grpc, google.protobuf").CombinedOutput(); err != nil {
		return "/usr/bin/python3 with grpcio and protobuf (on Debian: python3-grpcio python3-protobuf): " + err.Error() + "\n" + string(out)
	}
	return needsPrograms("make", "protoc")
}

func needsPrograms(names ...string) string {
	for _, name := range names {
		if _, err := exec.LookPath(name); err != nil {
			return err.Error()
		}
	}
	return ""
}

// project is what toolhost dev new wrote, and how it is built.
type project struct {
	dir  string
	make []string // arguments of make
}

// inEach runs a test with a new project in each language that this machine can build.
func inEach(t *testing.T, test func(t *testing.T, language string, p project)) {
	t.Helper()
	for language, l := range languages {
		t.Run(language, func(t *testing.T) {
			t.Parallel()
			if os.Getenv(modulesVariable) == "" {
				t.Skip("it takes minutes: run make languages")
			}
			if missing := l.needs(); missing != "" {
				t.Skip("needs " + missing)
			}
			test(t, language, prepared(t, language, name))
		})
	}
}

// prepared writes a project that needs no network to build.
func prepared(t *testing.T, language, name string) project {
	t.Helper()
	p := project{dir: newProject(t, language, name)}
	if prepare := languages[language].prepare; prepare != nil {
		var err error
		if p.make, err = prepare(p.dir); err != nil {
			t.Fatal(err)
		}
	}
	return p
}

// newProject writes a project with the command, and returns its directory.
func newProject(t *testing.T, language, name string) string {
	t.Helper()
	path := command(t)
	args := []string{"dev", "new", name, "--lang", language}
	if language == "go" {
		checkout := require.Must(filepath.Abs("../../.."))(t)
		args = append(args, "--toolhost", checkout)
	}
	cmd := exec.CommandContext(t.Context(), path, args...) //nolint:gosec // of this test
	cmd.Dir = t.TempDir()
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("toolhost dev new: %v\n%s", err, out)
	}
	return filepath.Join(cmd.Dir, name)
}

// run runs make in the project, with the command under test, and returns what it prints.
func (p project) run(t *testing.T, targets ...string) string {
	t.Helper()
	path := command(t)
	args := append([]string{"TOOLHOST=" + path}, p.make...)
	cmd := exec.CommandContext(t.Context(), "make", append(args, targets...)...) //nolint:gosec // of this test
	cmd.Dir = p.dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("make %s: %v\n%s", strings.Join(targets, " "), err, out)
	}
	return string(out)
}

// The examples are what toolhost dev new writes. Their plugin.proto is a link to the contract.
func TestExamplesAreFresh(t *testing.T) {
	t.Parallel()
	for language, l := range languages {
		if l.example == "" {
			continue
		}
		from, to := newProject(t, language, name), filepath.Join(examples, language)
		written := map[string]bool{}
		err := filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
			if written[d.Name()] = true; err != nil || d.IsDir() || *update && d.Name() == "plugin.proto" {
				return err
			}
			want, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			file := filepath.Join(to, d.Name())
			if have, err := os.ReadFile(file); err == nil && string(have) == string(want) {
				return nil
			}
			if !*update {
				t.Errorf("%s is not what toolhost dev new writes: run make generate", file)
				return nil
			}
			info, err := d.Info()
			if err != nil {
				return err
			}
			return os.WriteFile(file, want, info.Mode())
		})
		assert.NoError(t, err)
		for _, e := range require.Must(os.ReadDir(to))(t) {
			switch file := filepath.Join(to, e.Name()); {
			case written[e.Name()] || e.IsDir():
			case *update:
				require.NoError(t, os.Remove(file))
			default:
				t.Errorf("toolhost dev new does not write %s: run make generate", file)
			}
		}
	}
}

// A person reads the example in a minute, and what it is made with in a quarter of an hour.
func TestExamplesAreShort(t *testing.T) {
	t.Parallel()
	for language, l := range languages {
		if l.library == "" {
			continue
		}
		for file, most := range map[string]int{l.example: 40, l.library: 400} {
			text := require.Must(os.ReadFile(filepath.Join(examples, language, file)))(t)
			lines := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
			if len(lines) > most {
				t.Errorf("%s has %d lines", file, len(lines))
			}
			for i, line := range lines {
				if len(line) > 120 {
					t.Errorf("%s:%d has %d columns", file, i+1, len(line))
				}
			}
		}
	}
}

var skipped = regexp.MustCompile(`(?m)^ *skip +(\S+)`)

// verified checks what toolhost dev verify printed of a new project: it skips no check but those for which its tool is
// too simple, as it is cautious, has no sensitive argument, and takes any configuration.
func verified(t *testing.T, printed string) {
	t.Helper()
	for _, check := range skipped.FindAllStringSubmatch(printed, -1) {
		simple := []string{"configure.refuses", "concurrency.answers", "output.secrets"}
		if !strings.HasPrefix(check[1], "calls.") && !slices.Contains(simple, check[1]) {
			t.Errorf("the check %s is skipped", check[1])
		}
	}
}

// The release script of Python tests, verifies and packs. TestShipping has the other languages do that.
func TestRelease(t *testing.T) {
	t.Parallel()
	if os.Getenv(modulesVariable) == "" {
		t.Skip("it takes a while: run make languages")
	}
	if missing := needsPython(); missing != "" {
		t.Skip("needs " + missing)
	}
	p := prepared(t, "python", name)
	cmd := exec.CommandContext(t.Context(), "./release.sh")
	cmd.Dir, cmd.Env = p.dir, append(os.Environ(), "TOOLHOST="+command(t))
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	verified(t, string(out))
	_, err = os.Stat(filepath.Join(p.dir, "dist", name+"-0.1.0.tar"))
	require.NoError(t, err)
}

// The project's own tests pass, and two builds give the same bytes.
func TestProjects(t *testing.T) {
	t.Parallel()
	inEach(t, func(t *testing.T, _ string, p project) {
		p.run(t, "help", "test", "build")
		file := filepath.Join(p.dir, "bin", name)
		first := require.Must(os.ReadFile(file))(t)
		require.NoError(t, os.Remove(file))
		p.run(t, "build")
		if second, err := os.ReadFile(file); err != nil || string(first) != string(second) {
			t.Errorf("another build gives other bytes (%v)", err)
		}
	})
}
