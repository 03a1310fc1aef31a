package observe

import (
	"bufio"
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/internal/safefile"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// helpers are directories of programs that other programs start, by the names of these.
var helpers = map[string][]string{
	"go":  {"pkg/tool"},
	"git": {"lib/git-core", "libexec/git-core"},
	"gcc": {"lib/gcc", "libexec/gcc"},
}

// family returns the name by which a program's helpers are known: a compiler's has its target and
// its version in it, as in x86_64-linux-gnu-g++-12.
func family(program string) string {
	name := filepath.Base(program)
	if strings.Contains(name, "gcc") || strings.Contains(name, "g++") {
		return "gcc"
	}
	return name
}

// Companions returns what programs have besides themselves: the programs that they are made of,
// and what they read.
func Companions(programs, env []string) (read, exec []string) {
	for _, program := range programs {
		target, err := filepath.EvalSymlinks(program)
		if err != nil {
			continue
		}
		tree := filepath.Dir(filepath.Dir(target))
		if family(target) == "go" {
			tree = cmp.Or(goVariable(env, "GOROOT"), tree)
			more, toolchains := goFiles(env)
			read, exec = append(append(read, tree), more...), append(exec, toolchains...)
		}
		for _, dir := range helpers[family(target)] {
			if at := filepath.Join(tree, dir); isDir(at) {
				exec = append(exec, at)
			}
		}
	}
	return read, exec
}

// goFiles returns what the go command reads besides its tree: the module cache and its
// configuration, as the environment or that names them; and the toolchains that it has got there
// for modules that ask for another than its own (GOTOOLCHAIN).
func goFiles(env []string) (read, toolchains []string) {
	cache := goVariable(env, "GOMODCACHE")
	if cache == "" {
		if path := filepath.SplitList(goVariable(env, "GOPATH")); len(path) > 0 {
			cache = filepath.Join(path[0], "pkg", "mod")
		}
	}
	cache = filepath.Clean(ExpandHome(cmp.Or(cache, "~/go/pkg/mod"), env))
	found, _ := filepath.Glob(filepath.Join(cache, "golang.org", "toolchain@*")) // no error but of the pattern
	for _, dir := range found {
		toolchains = append(toolchains, filepath.Join(dir, "bin"), filepath.Join(dir, "pkg", "tool"))
	}
	return []string{cache, goConfig(env)}, toolchains
}

// goConfig returns the path of the file that go env -w writes, or, if there is none, that of an
// empty one.
func goConfig(env []string) string {
	dir := cmp.Or(variable(env, "XDG_CONFIG_HOME"), "~/.config")
	path := ExpandHome(cmp.Or(variable(env, "GOENV"), filepath.Join(dir, "go", "env")), env)
	if !filepath.IsAbs(path) { // it is off
		return os.DevNull
	}
	return filepath.Clean(path)
}

// goVariable returns what the go command takes for the value of one of its variables, if that is
// an absolute path or a list of them; else it is empty.
func goVariable(env []string, name string) string {
	value := variable(env, name)
	if value == "" {
		value = configured(goConfig(env), name)
	}
	if !filepath.IsAbs(value) {
		return ""
	}
	return value
}

// configured returns the value of a variable in a file of lines NAME=value.
func configured(path, name string) (value string) {
	f, _, err := safefile.OpenTarget(path)
	if err != nil {
		return ""
	}
	defer func() { _ = f.Close() }()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if v, ok := strings.CutPrefix(lines.Text(), name+"="); ok {
			value = v
		}
	}
	return value
}

// variable returns the value of a variable; empty: it is not set.
func variable(env []string, name string) (value string) {
	for _, kv := range env {
		if v, ok := strings.CutPrefix(kv, name+"="); ok {
			value = v
		}
	}
	return value
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// GoEnvironment returns the variables by which the go command, if it is granted by its name, keeps
// to the plugin's own cache: that of the user has what other programs will run.
func GoEnvironment(given tool.Needs, cache string) []string {
	if cache == "" || !slices.ContainsFunc(given.Exec, func(e string) bool { return filepath.Base(e) == "go" }) {
		return nil
	}
	temporary := filepath.Join(cache, "tmp") // has to exist; /tmp is small, and nothing may be run there
	_ = os.Mkdir(temporary, 0o700)
	out := []string{"GOCACHE=" + filepath.Join(cache, "go-build"), "GOTMPDIR=" + temporary}
	if len(given.Net) == 0 {
		out = append(out, "GOPROXY=off") // whose error says what to do
	}
	return out
}
