package worktest_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/internal/test/binaries"
	"github.com/toolhost/toolhost/internal/test/fulldisk"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/internal/test/snippets"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// A host that is made as README, the tutorial and the examples make it has all of the Go tools, whatever the
// user has of caches.
func TestEmbeddedCaches(t *testing.T) {
	shippedPlugins(t) // built with the caches that there are
	for name, prepare := range map[string]func(t *testing.T, caches string){
		"none": func(*testing.T, string) {},
		"of another user": func(t *testing.T, caches string) {
			t.Helper()
			dir := filepath.Join(caches, "toolhost", "plugins")
			require.NoError(t, os.MkdirAll(dir, 0o700))
			if err := os.Chown(dir, 61234, 61234); err != nil {
				t.Skip(err)
			}
		},
		"no home": func(t *testing.T, _ string) {
			t.Helper()
			t.Setenv("HOME", "")
			t.Setenv("XDG_CACHE_HOME", "")
		},
	} {
		t.Run(name, func(t *testing.T) {
			program := documented(t, name)
			caches := t.TempDir()
			t.Setenv("XDG_CACHE_HOME", caches)
			prepare(t, caches)
			embedded(t, name == "none")
			program()
			if made, err := os.ReadDir(filepath.Join(caches, "toolhost", "plugins")); (len(made) > 0) != (name == "none") {
				t.Errorf("caches: %v, %v", made, err)
			}
		})
	}
}

// On a full disk, the caches are elsewhere.
func TestEmbeddedOnFullDisk(t *testing.T) {
	fulldisk.Run(t, func(t *testing.T, disk string) {
		t.Helper()
		program := documented(t, "full disk")
		t.Setenv("XDG_CACHE_HOME", disk)
		filler := require.Must(os.Create(filepath.Join(disk, "filler")))(t)
		for err := error(nil); err == nil; {
			_, err = filler.Write(make([]byte, 4096))
		}
		require.NoError(t, filler.Close())
		embedded(t, false)
		program()
	})
}

// documented builds a program of the documents, another one for each condition: that of the tutorial and, but
// for -short, those of examples. It returns what runs it.
func documented(t *testing.T, condition string) (run func()) {
	t.Helper()
	plugins := func(name string) string { return filepath.Join(shippedPlugins(t).plugins, name) }
	repository := require.Must(filepath.Abs("../../.."))(t)
	var program string
	var args []string
	switch {
	case condition == "none":
		page := require.Must(os.ReadFile(filepath.Join(repository, "docs", "tutorials", "agent.md")))(t)
		blocks := require.Must(snippets.Read(string(page)))(t)
		at := slices.IndexFunc(blocks, func(b snippets.Block) bool { return b.File == "agent/main.go" })
		source := filepath.Join(t.TempDir(), "main.go")
		require.NoError(t, os.WriteFile(source, []byte(blocks[at].Text), 0o600))
		program, args = compiled(t, repository, source), []string{plugins("fs")}
	case testing.Short():
		return func() {}
	case condition == "full disk":
		program = compiled(t, filepath.Join(repository, "examples", "agent"), ".")
		args = []string{"-model", "m", "-base-url", model(t) + "/v1", "-plugin-dir", plugins("introspection"), "-grant", "fs:read", "look"}
	default:
		program = filepath.Join(binaries.Build(t, "examples/embed"), "embed")
		args = []string{"-plugins", plugins("introspection"), "list_packages", "{}"}
	}
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module example.com/m\n\ngo 1.26\n"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a.go"), []byte("package m\n"), 0o600))
	return func() {
		cmd := exec.CommandContext(t.Context(), program, args...) //nolint:gosec // of this test
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "OPENAI_API_KEY=none")
		if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "example.com/m") {
			t.Errorf("%s: %v\n%s", cmd, err, out)
		}
	}
}

// compiled returns the program of a package.
func compiled(t *testing.T, dir, pkg string) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "program")
	cmd := exec.CommandContext(t.Context(), "go", "build", "-o", program, pkg) //nolint:gosec // of this test
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", cmd, err, out)
	}
	return program
}

// model is an endpoint whose model calls list_packages, and says what that answers.
func model(t *testing.T) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var asked struct {
			Messages []struct{ Role, Content string }
		}
		text, _ := io.ReadAll(r.Body)
		_ = json.Unmarshal(text, &asked) // what else it is, is nothing that it answers
		answer := map[string]any{"role": "assistant", "content": nil, "tool_calls": []any{map[string]any{
			"id": "1", "type": "function", "function": map[string]string{"name": "list_packages", "arguments": "{}"},
		}}}
		if last := asked.Messages[len(asked.Messages)-1]; last.Role == "tool" {
			answer = map[string]any{"role": "assistant", "content": last.Content}
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]any{"object": "chat.completion", "choices": []any{
			map[string]any{"index": 0, "finish_reason": "stop", "message": answer},
		}})
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// embedded asks the tools of a host without options about a module, and if it compiles, evaluates a form.
func embedded(t *testing.T, compiles bool) {
	t.Helper()
	root, shipped := t.TempDir(), shippedPlugins(t)
	temporary := require.Must(os.MkdirTemp("", "embed-"))(t) // with a short name, as sockets are there
	t.Cleanup(func() { _ = os.RemoveAll(temporary) })
	t.Setenv("TMPDIR", temporary)
	for name, content := range map[string]string{
		"go.mod": "module example.com/m\n\ngo 1.26\n", "a.go": "// Package m is a module.\npackage m\n\n// V is one.\nconst V = 1\n",
	} {
		require.NoError(t, os.WriteFile(filepath.Join(root, name), []byte(content), 0o600))
	}
	h := require.Must(host.New(host.WithRoot(root)))(t)
	for _, name := range []string{"introspection", "execution"} {
		require.Must(h.Load(t.Context(), filepath.Join(shipped.plugins, name)))(t)
	}
	s := h.Session(host.WithGrants(tool.FSRead, tool.Exec), host.WithApprover(yes))
	calls := [][3]string{
		{"list_packages", `{}`, `"example.com/m"`}, {"describe_symbol", `{"symbol":"m.V"}`, "V is one"},
		{"check_package", `{}`, ""}, {"eval_form", `{"form":"1+1"}`, "2"},
	}
	if !compiles {
		calls = calls[:2]
	}
	for _, c := range calls {
		out := s.Call(t.Context(), tool.Call{Name: c[0], Arguments: []byte(c[1])})
		if !out.Success || !strings.Contains(out.Content, c[2]) {
			t.Errorf("%s %s: %+v", c[0], c[1], out)
		}
	}
	require.NoError(t, h.Close(context.Background()))
	if left := require.Must(filepath.Glob(filepath.Join(temporary, "toolhost-*")))(t); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
}
