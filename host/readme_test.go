package host_test

import (
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/internal/test/binaries"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// The plugin in the README is complete, short and works.
func TestReadmePlugin(t *testing.T) {
	t.Parallel()
	readme := require.Must(os.ReadFile("../README.md"))(t)
	_, rest, _ := strings.Cut(string(readme), "```go file=hello/main.go\npackage main")
	code, _, ok := strings.Cut("package main"+rest, "```")
	if !ok {
		t.Fatal("the README has no plugin")
	}
	if pretty, err := format.Source([]byte(code)); err != nil || string(pretty) != code {
		t.Errorf("it is not formatted as gofmt does: %v", err)
	}
	_, body, _ := strings.Cut(code, "\n)\n")
	lines := 0
	for line := range strings.Lines(body) {
		if strings.TrimSpace(line) != "" {
			lines++
		}
	}
	if lines == 0 || lines > 10 {
		t.Errorf("it has %d lines below its imports, want at most 10", lines)
	}

	src, dir := filepath.Join(t.TempDir(), "main.go"), t.TempDir()
	require.NoError(t, os.WriteFile(src, []byte(code), 0o600))
	binaries.Sources(t, "./pluginsdk")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", filepath.Join(dir, "hello"), src)
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	h := newHost(t)
	require.Must(h.Load(t.Context(), dir))(t)
	out := h.Call(t.Context(), tool.Call{Name: "hello", Arguments: []byte(`{"name":"world"}`)})
	if !out.Success || out.Content != "Hello, world!" {
		t.Errorf("outcome %+v", out)
	}
	if out := h.Call(t.Context(), tool.Call{Name: "hello"}); out.Content == "" || !strings.Contains(out.Content, "missing required argument: name") {
		t.Errorf("without arguments: %+v", out)
	}
}

// The program in the comment of each package that people import compiles: it is the body of a function, or
// what a file has after its imports.
func TestPackageComments(t *testing.T) {
	t.Parallel()
	paths := []string{"host", "host/audit", "host/fleet", "host/policy", "pluginsdk", "pluginsdk/tool"}
	sources := make([]string, len(paths))
	for i, path := range paths {
		code := strings.Join(programOf(t, filepath.Join("..", path)), "\n")
		if !strings.HasPrefix(code, "type ") {
			if !strings.Contains(code, "\nreturn ") {
				code += "\nreturn nil"
			}
			code = "func main() { _ = run(context.Background()) }\n\nfunc run(ctx context.Context) error {\n" + code + "\n}"
		}
		text := "package main\n\n"
		for _, name := range []string{"context", "fmt", "log", module + "host", module + "host/audit", module + "host/fleet", module + "host/policy", module + "pluginsdk", module + "pluginsdk/tool"} {
			if strings.Contains(code, filepath.Base(name)+".") {
				text += fmt.Sprintf("import %q\n", name)
			}
		}
		sources[i] = filepath.Join(t.TempDir(), "main.go")
		require.NoError(t, os.WriteFile(sources[i], []byte(text+"\n"+code), 0o600))
	}
	for i, src := range sources {
		if out, err := exec.CommandContext(t.Context(), "go", "vet", src).CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", paths[i], err, out)
		}
	}
}

// programOf returns the lines of the first program in the comment of a package.
func programOf(t *testing.T, dir string) (program []string) {
	t.Helper()
	for _, name := range require.Must(filepath.Glob(filepath.Join(dir, "*.go")))(t) {
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.PackageClauseOnly|parser.ParseComments)
		require.NoError(t, err)
		if f.Doc == nil || strings.HasSuffix(name, "_test.go") {
			continue
		}
		for line := range strings.Lines((&ast.CommentGroup{List: f.Doc.List}).Text()) {
			line = strings.TrimSuffix(line, "\n")
			code, isCode := strings.CutPrefix(line, "\t")
			switch {
			case isCode:
				program = append(program, code)
			case line != "" && len(program) > 0:
				return program
			case len(program) > 0:
				program = append(program, "")
			}
		}
	}
	if len(program) == 0 {
		t.Fatalf("the comment of %s has no program", dir)
	}
	return program
}
