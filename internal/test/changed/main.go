// Changed says what a change has to be tested with. From the root of the module:
//
//	changed stages    the stages that make test has besides those of each day, one a line
//	changed packages  the packages whose tests see the change, for make quick
//
// A change is what differs, also without a commit, from the commit that BASE names, else from the
// merge base with origin/main. If there is none, or it is the newest commit, all stages are
// printed, as nothing says what is new.
package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"regexp"
	"slices"
	"strings"
)

func main() {
	var lines []string
	err := errors.New("usage: changed stages|packages")
	if len(os.Args) == 2 {
		switch os.Args[1] {
		case "stages":
			lines, err = stages()
		case "packages":
			lines, err = packages()
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "changed:", err)
		os.Exit(1)
	}
	for _, l := range lines {
		_, _ = fmt.Fprintln(os.Stdout, l)
	}
}

// A row is a target of the Makefile that .ci/long runs, and the files whose change brings it back
// into the day.
type row struct {
	stage string
	files *regexp.Regexp
}

var table = []row{
	{"confinement", regexp.MustCompile(
		`^internal/(sandbox|stage|cgroup|egress|grant|confine|protect|safefile|test/(escape|worktest))/|^host/plugin/|^plugins/|^go\.mod$`)},
	{"conformance", regexp.MustCompile(`^host/(mcp[a-z]*|task)/|^cmd/toolhost/internal/(mcp[a-z]*|control)/|^internal/test/(conformance|mcptest)/|^go\.mod$`)},
	{"console", regexp.MustCompile(`^cmd/toolhost/internal/(console|daemon|activity)/|^internal/test/(browser|console)/`)},
	{"execution", regexp.MustCompile(`^plugins/(execution|internal)/|^go\.mod$`)},
	{"languages", regexp.MustCompile(`^cmd/toolhost/internal/scaffold/|^examples/plugins/|^internal/test/(languages|others)/|^proto/`)},
	{"snippets", regexp.MustCompile(`^docs/|\.md$|^internal/test/snippets/`)},
	{"vulnerabilities", regexp.MustCompile(`^go\.(mod|sum)$`)},
}

func stages() ([]string, error) {
	base, err := base()
	if err != nil {
		return nil, err
	}
	head, err := git("rev-parse", "HEAD")
	if err != nil {
		return nil, err
	}
	var files []string
	everything := base == "" || base == strings.TrimSpace(head)
	if !everything {
		if files, err = since(base); err != nil {
			return nil, err
		}
	}
	var out []string
	for _, r := range table {
		if everything || slices.ContainsFunc(files, r.files.MatchString) {
			out = append(out, r.stage)
		}
	}
	return out, nil
}

// base is the commit that the change is compared with, or empty.
func base() (string, error) {
	if name := os.Getenv("BASE"); name != "" {
		out, err := git("rev-parse", "--verify", name+"^{commit}")
		return strings.TrimSpace(out), err
	}
	out, err := git("merge-base", "origin/main", "HEAD")
	if err != nil {
		return "", nil //nolint:nilerr // there is no such branch
	}
	return strings.TrimSpace(out), nil
}

// since are the files that differ from a commit, and those that git does not know.
func since(commit string) ([]string, error) {
	changed, err := git("diff", "--name-only", "--no-renames", "-z", commit)
	if err != nil {
		return nil, err
	}
	created, err := git("ls-files", "--others", "--exclude-standard", "-z")
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(strings.Split(changed+created, "\x00"), func(f string) bool { return f == "" }), nil
}

func git(args ...string) (string, error) { return output("git", args...) }

func output(name string, args ...string) (string, error) {
	var stderr bytes.Buffer
	cmd := exec.Command(name, args...) //nolint:noctx // at once
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w\n%s", name, args[0], err, stderr.String())
	}
	return string(out), nil
}

// also has, by package, what its tests use besides what it imports: programs that they build, and
// files that they read.
var also = map[string]*regexp.Regexp{
	"cmd/toolhost":              regexp.MustCompile(`^(plugins|docs|examples|packaging|internal/test/others)/|\.md$`),
	"examples/both":             regexp.MustCompile(`^examples/both/`),
	"host":                      regexp.MustCompile(`^README\.md$|^internal/test/testplugin/`),
	"host/plugin":               regexp.MustCompile(`^internal/test/(testplugin|hostile|toolserver)/`),
	"internal/generate":         regexp.MustCompile(`^proto/`),
	"internal/test/binaries":    regexp.MustCompile(`^go\.(mod|sum)$`),
	"internal/test/changed":     regexp.MustCompile(`^(Makefile|\.ci/.*)$`),
	"internal/test/conformance": regexp.MustCompile(`^(cmd|internal/test/others)/`),
	"internal/pluginsource":     regexp.MustCompile(`^internal/test/others/`),
	"internal/schema":           regexp.MustCompile(`^internal/test/others/`),
	"internal/test/console":     regexp.MustCompile(`^(cmd|plugins/fs)/`),
	"internal/test/escape":      regexp.MustCompile(`^docs/sandbox\.md$`),
	"internal/test/languages":   regexp.MustCompile(`^(cmd|examples/plugins|internal/test/others)/`),
	"internal/test/worktest":    regexp.MustCompile(`^plugins/`),
	"pluginsdk/mcpplugin":       regexp.MustCompile(`^plugins/fs/`),
}

// packages are those whose tests import, build or read what has changed.
func packages() ([]string, error) {
	base, err := base()
	if err != nil {
		return nil, err
	}
	if base == "" {
		base = "HEAD"
	}
	files, err := since(base)
	if err != nil {
		return nil, err
	}
	out, err := output("go", "list", "-e", "-test", "-f", "{{.ImportPath}} {{join .Deps \" \"}}", "./...")
	if err != nil {
		return nil, err
	}
	return affected(files, out), nil
}

const module = "github.com/toolhost/toolhost"

// affected are the packages that see a change of files: listed has a line for each package and each
// test, with all that it imports.
func affected(files []string, listed string) []string {
	imports, known := map[string][]string{}, map[string]bool{}
	for line := range strings.Lines(listed) {
		words := strings.Fields(line)
		known[words[0]] = true
		if test, ok := strings.CutSuffix(words[0], ".test"); ok {
			imports[test] = words[1:]
		}
	}
	changed, tests := map[string]bool{}, map[string]bool{} // for others, and for its own tests alone
	files = slices.Clone(files)
	for i, f := range files {
		into := changed
		if strings.HasSuffix(f, "_test.go") {
			into, files[i] = tests, "" // no program is made of it
		}
		// Files that are embedded or in testdata are of the package above them.
		for dir := path.Dir(f); ; dir = path.Dir(dir) {
			if pkg := path.Join(module, dir); known[pkg] {
				into[pkg] = true
				break
			}
			if dir == "." {
				break
			}
		}
	}
	var out []string
	for test, deps := range imports {
		reads := also[strings.TrimPrefix(test, module+"/")]
		if changed[test] || tests[test] || slices.ContainsFunc(deps, func(d string) bool { return changed[d] }) ||
			reads != nil && slices.ContainsFunc(files, reads.MatchString) {
			out = append(out, test)
		}
	}
	slices.Sort(out)
	return out
}
