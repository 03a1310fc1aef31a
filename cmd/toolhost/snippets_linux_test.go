package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/internal/test/modproxy"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/internal/test/snippets"
)

// notRunAtMost bounds how many blocks of the documents say that they cannot be run here, and why.
const notRunAtMost = 35

// unread are documents without blocks to run: those that are made from the code, and the record
// of decisions.
var unread = map[string]bool{"decisions.md": true, "sandbox.md": true}

// Every fenced block of the documents is right: commands run in the order of the page, in a
// directory and a home of its own, with what a release has in PATH; output is as shown; Go
// compiles, toolhost.yaml passes config check, JSON and Python can be parsed.
func TestSnippets(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it builds and runs what all documents show: make snippets runs it, by day if a document changed")
	}
	repository := require.Must(filepath.Abs(filepath.Join("..", "..")))(t)
	pages := []string{"README.md"}
	for _, pattern := range []string{"docs/*.md", "docs/how-to/*.md", "docs/tutorials/*.md"} {
		found := require.Must(filepath.Glob(filepath.Join(repository, pattern)))(t)
		for _, f := range found {
			if !unread[filepath.Base(f)] {
				name, _ := filepath.Rel(repository, f)
				pages = append(pages, name)
			}
		}
	}
	count := 0
	for _, name := range pages {
		text := require.Must(os.ReadFile(filepath.Join(repository, name)))(t)
		blocks, err := snippets.Read(string(text))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for _, b := range blocks {
			if b.NoRun != "" {
				count++
			}
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			(&page{t: t, name: name, repository: repository}).check(blocks)
		})
	}
	if count > notRunAtMost {
		t.Errorf("%d blocks are not run, more than %d: run them", count, notRunAtMost)
	}
}

// modules is a module proxy with this module as it is published.
var modules struct {
	once sync.Once
	env  []string
	err  error
}

// moduleEnv makes go take this module from the checkout, as if it was published.
func moduleEnv(t *testing.T, repository string) []string {
	t.Helper()
	modules.once.Do(func() {
		dir := filepath.Join(built.dir, "proxy")
		var out []byte
		if out, modules.err = exec.Command("go", "env", "GOMODCACHE", "GOCACHE").Output(); modules.err != nil {
			return
		}
		caches := strings.Fields(string(out))
		modules.env = append(modproxy.Environment(dir, caches[0]), "GOCACHE="+caches[1])
		modules.err = modproxy.Write(dir, repository, "v"+host.Version)
	})
	if modules.err != nil {
		t.Fatal(modules.err)
	}
	return modules.env
}

// page runs the blocks of a document.
type page struct {
	t                *testing.T
	name, repository string
	env              []string
	dir              string // has the files of blocks
	script           strings.Builder
	shown            map[int]snippets.Block // what the block of commands with that number prints
	last             int                    // the number of the last block of commands
	waits            bool                   // that block waits for the next
	after            func(home string)      // is called when the commands have run, if it is not nil
}

const (
	// asUser runs commands of another user, who has a home.
	asUser = `install -d -o %[1]s "$HOME/../%[1]s"
setpriv --reuid=%[1]s --regid=%[1]s --clear-groups env -i PATH="$PATH" HOME="$HOME/../%[1]s" sh -eu <<'END'
%[2]sEND
`
	// waiting runs commands until there is a question in the daemon's queue.
	waiting = `(
%s) & waiting=$!
until ID=$(toolhost approvals --json | grep -o '"id": *"[^"]*' | cut -d '"' -f 4); [ -n "$ID" ]; do kill -0 $waiting; sleep 0.1; done
`
)

func (p *page) check(blocks []snippets.Block) {
	p.dir, p.shown = p.t.TempDir(), map[int]snippets.Block{}
	for i, b := range blocks {
		switch {
		case b.NoRun != "":
		case os.Geteuid() != 0 && (b.As != "" || i > 0 && blocks[i-1].As != "" && blocks[i-1].Waits):
			p.t.Logf("%s:%d: only root can be another user", p.name, b.Line)
		default:
			p.block(i, b)
		}
	}
	if p.script.Len() > 0 {
		p.run(blocks)
	}
}

// block checks one block, or adds it to the script of the page.
func (p *page) block(i int, b snippets.Block) {
	fail := func(err error) {
		if err != nil {
			p.t.Errorf("%s:%d: %v", p.name, b.Line, err)
		}
	}
	if b.File != "" {
		from := filepath.Join(p.dir, strconv.Itoa(i))
		fail(os.WriteFile(from, []byte(b.Text), 0o600))
		fmt.Fprintf(&p.script, "install -D -m 644 %s %s\n", from, b.File)
	}
	switch b.Language {
	case "sh":
		fmt.Fprintf(&p.script, "printf '\\n\\036%d\\n'\n", i)
		commands := b.Text
		if b.As != "" {
			commands = fmt.Sprintf(asUser, b.As, commands)
		}
		if p.waits {
			commands = strings.ReplaceAll(commands, " ID\n", " \"$ID\"\n") + "wait $waiting\n"
		}
		if p.waits = b.Waits; b.Waits {
			fmt.Fprintf(&p.script, waiting, commands)
		} else if b.Fails {
			fmt.Fprintf(&p.script, "set +e\n%sstatus=$?; set -e; [ $status -ne 0 ] || { echo 'the last command does not fail'; exit 90; }\n", commands)
		} else {
			p.script.WriteString(commands)
		}
		p.last = i
	case "text":
		if b.Output {
			p.shown[p.last] = b
		}
	case "mermaid", "proto":
	case "json":
		if !json.Valid([]byte(b.Text)) {
			fail(fmt.Errorf("it is not JSON"))
		}
	case "yaml":
		file := b.File
		if file == "" {
			file = filepath.Join(p.dir, fmt.Sprintf("%d.yaml", i))
			fail(os.WriteFile(file, []byte(b.Text), 0o600))
		} else if filepath.Base(file) != "toolhost.yaml" {
			return
		}
		fmt.Fprintf(&p.script, "printf '\\n\\036%d\\n'\ntoolhost config check %s\n", i, file)
	case "go":
		if b.File == "" {
			fail(p.compile(b.Text))
		}
	case "python":
		const parse = "import ast,sys; compile(sys.stdin.read(), 'snippet', 'exec', ast.PyCF_ALLOW_TOP_LEVEL_AWAIT | ast.PyCF_ONLY_AST)"
		if python, err := exec.LookPath("python3"); err == nil {
			cmd := exec.CommandContext(p.t.Context(), python, "-c", parse)
			cmd.Stdin = strings.NewReader(b.Text)
			if out, err := cmd.CombinedOutput(); err != nil {
				fail(fmt.Errorf("%w: %s", err, out))
			}
		}
	default:
		if b.File == "" {
			fail(fmt.Errorf("%s is not checked: say no-run: and why", b.Language))
		}
	}
}

// run runs the script of the page, and compares what it prints with what the page shows.
func (p *page) run(blocks []snippets.Block) {
	newWorld(p.t) // the programs are built
	place := require.Must(os.MkdirTemp("/tmp", "th-"))(p.t)
	defer func() { _ = os.RemoveAll(place) }()
	require.NoError(p.t, os.Chmod(place, 0o711)) //nolint:gosec // users of the page may enter it
	in := func(names ...string) string { return filepath.Join(append([]string{place}, names...)...) }
	for _, dir := range []string{in("run"), in("tmp")} {
		require.NoError(p.t, os.Mkdir(dir, 0o700))
	}
	for _, dir := range []string{in("bin", "plugins"), in("home", "project")} {
		require.NoError(p.t, os.MkdirAll(dir, 0o755)) //nolint:gosec // here, too
	}
	for _, name := range append([]string{"toolhost"}, shipped...) {
		to := in("bin", "plugins", name)
		if name == "toolhost" {
			to = in("bin", name)
		}
		require.NoError(p.t, os.Link(filepath.Join(built.dir, name), to))
	}
	p.env = append(slices.Clone(moduleEnv(p.t, p.repository)), "PATH="+in("bin")+":"+os.Getenv("PATH"), "HOME="+in("home"),
		"TMPDIR="+in("tmp"), "XDG_RUNTIME_DIR="+in("run"), "LANG=C.UTF-8", "TERM=dumb")
	ctx, cancel := context.WithTimeout(p.t.Context(), 5*time.Minute)
	defer cancel()
	shell := p.command(ctx, in("home", "project"), "sh", "-eu", "-c", p.script.String())
	out := require.Must(os.Create(in("output")))(p.t) // a daemon in the background must not keep a pipe open
	defer func() { _ = out.Close() }()
	shell.Stdout, shell.Stderr = out, out
	failed := shell.Run()
	if failed == nil && p.after != nil {
		p.after(in("home"))
	}
	_ = p.command(ctx, in("home", "project"), "toolhost", "stop").Run()
	_ = syscall.Kill(-shell.Process.Pid, syscall.SIGTERM)
	text := require.Must(os.ReadFile(in("output")))(p.t)
	printed := map[int]string{}
	i := -1
	for _, part := range strings.Split(string(text), "\n\x1e") {
		number, rest, _ := strings.Cut(part, "\n")
		if n, err := strconv.Atoi(number); err == nil {
			i = n
			printed[n] = rest
		}
	}
	if failed != nil {
		p.t.Fatalf("%s:%d: %v\n%s%s", p.name, blocks[i].Line, failed, blocks[i].Text, printed[i])
	}
	for n, b := range p.shown {
		if err := snippets.Match(b.Text, printed[n]); err != nil {
			p.t.Errorf("%s:%d: %v", p.name, b.Line, err)
		}
	}
}

// command is a program in the place of the page, in a process group of its own.
func (p *page) command(ctx context.Context, dir string, words ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, words[0], words[1:]...) //nolint:gosec // what the documents say
	if path, ok := strings.CutPrefix(p.env[slices.IndexFunc(p.env, func(kv string) bool { return strings.HasPrefix(kv, "PATH=") })], "PATH="); ok && words[0] == "toolhost" {
		cmd.Path, cmd.Err = filepath.Join(strings.SplitN(path, ":", 2)[0], "toolhost"), nil
	}
	cmd.Dir, cmd.Env, cmd.SysProcAttr = dir, p.env, noTerminal()
	cmd.WaitDelay = 5 * time.Second
	return cmd
}

// imports are those that pieces of Go in the documents use, by the names of the packages.
var imports = map[string]string{
	"context": "context", "errors": "errors", "fmt": "fmt", "log": "log", "os": "os", "testing": "testing", "time": "time",
	"host": modproxy.Module + "/host", "mcpserver": modproxy.Module + "/host/mcpserver", "policy": modproxy.Module + "/host/policy",
	"pluginsdk": modproxy.Module + "/pluginsdk", "tool": modproxy.Module + "/pluginsdk/tool",
	"tooltest": modproxy.Module + "/pluginsdk/tooltest", "llmschema": modproxy.Module + "/host/llmschema",
}

// compile compiles Go: a file, declarations, or statements of a function that has ctx and
// returns an error.
func (p *page) compile(text string) error {
	src := text
	if !strings.Contains("\n"+text, "\npackage ") {
		files := token.NewFileSet()
		body := "package snippet\n" + text
		if _, err := parser.ParseFile(files, "", body, 0); err != nil {
			body = "package snippet\nfunc _(ctx context.Context) error {\n" + text + "\n" + used(text) + "return nil\n}\n"
		}
		file, err := parser.ParseFile(files, "", body, 0)
		if err != nil {
			return err
		}
		names := map[string]bool{}
		ast.Inspect(file, func(n ast.Node) bool {
			if s, ok := n.(*ast.SelectorExpr); ok {
				if x, ok := s.X.(*ast.Ident); ok && imports[x.Name] != "" {
					names[x.Name] = true
				}
			}
			return true
		})
		src = "package snippet\n"
		for name := range names {
			src += fmt.Sprintf("import %q\n", imports[name])
		}
		src += strings.TrimPrefix(body, "package snippet\n")
	}
	file := filepath.Join(p.t.TempDir(), "snippet.go")
	if err := os.WriteFile(file, []byte(src), 0o600); err != nil {
		return err
	}
	cmd := exec.CommandContext(p.t.Context(), "go", "build", "-o", os.DevNull, file)
	cmd.Dir = p.repository
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%w\n%s%s", err, bytes.TrimSpace(out), src)
	}
	return nil
}

// used uses the variables that statements declare: the page goes on without saying how.
func used(text string) string {
	var out strings.Builder
	for _, m := range regexp.MustCompile(`(?m)^(\w+(?:, \w+)*) :=`).FindAllStringSubmatch(text, -1) {
		for _, name := range strings.Split(m[1], ", ") {
			if name != "_" {
				out.WriteString("_ = " + name + "\n")
			}
		}
	}
	return out.String()
}
