package host_test

import (
	"go/format"
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
