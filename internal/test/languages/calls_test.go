package languages

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// ceiling bounds a start, on a machine that is busy.
const ceiling = time.Minute

// TestCalls has a host run each plugin: from its directory and pinned by a lock, in each
// sandbox.
func TestCalls(t *testing.T) {
	t.Parallel()
	inEach(t, func(t *testing.T, _ string, p project) {
		p.run(t, "build")
		plugins := filepath.Join(p.dir, "bin")
		lock := pin(t, plugins)
		for _, level := range []plugin.SandboxLevel{plugin.NoSandbox, plugin.BestEffort, plugin.Strict} {
			for _, pinned := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s, pinned %t", level, pinned), func(t *testing.T) {
					t.Parallel()
					opts := []host.Option{host.WithDefaults(func(all *plugin.Settings) {
						all.Sandbox = plugin.Sandbox{Level: level}
					})}
					if pinned {
						opts = append(opts, host.WithLocks(host.Lock{File: lock}))
					}
					status := useNotes(t, plugins, opts...)
					assert.Equalf(t, status.Carrier, plugin.Socket, "its calls travel by")
				})
			}
		}
		t.Run("protected", func(t *testing.T) { t.Parallel(); refuses(t, plugins) })
	})
}

// open starts the plugin in a workspace.
func open(t *testing.T, plugins, root string, opts ...host.Option) *host.Host {
	t.Helper()
	h := require.Must(host.New(append(opts, host.WithRoot(root), host.WithDefaults(func(all *plugin.Settings) {
		all.StartTimeout = ceiling
	}))...))(t)
	t.Cleanup(func() {
		if err := h.Close(context.Background()); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	n, err := h.Load(t.Context(), plugins)
	if err != nil && strings.Contains(err.Error(), "does not enforce") {
		t.Skip(err)
	}
	if err != nil || n == 0 {
		t.Fatalf("%d tools, %v", n, err)
	}
	return h
}

// pin writes a lock of what is in the directory.
func pin(t *testing.T, plugins string) string {
	t.Helper()
	var r host.Recorder
	open(t, plugins, t.TempDir(), host.WithRecorder(&r))
	path := filepath.Join(t.TempDir(), "toolhost.lock")
	require.NoError(t, r.Lock().Write(path))
	return path
}

// useNotes calls the plugin's tool, and returns the plugin's state.
func useNotes(t *testing.T, plugins string, opts ...host.Option) plugin.Status {
	root := t.TempDir()
	h := open(t, plugins, root, append(opts, host.WithOverrides(map[string]host.Override{name + ".add": {Approval: policy.Ask}}))...)
	var mu sync.Mutex
	shown := map[string]string{}
	s := h.Session(host.WithGrants(tool.FSWrite), host.WithApprover(policy.ApproverFunc(func(ctx context.Context, r policy.Request) (policy.Decision, error) {
		preview, err := r.Preview(ctx)
		mu.Lock()
		defer mu.Unlock()
		shown[r.Call.ID] = preview.Text()
		return policy.Decision{Verdict: policy.Allow}, err
	})))
	add := func(id, arguments string) (tool.Result, error) {
		return s.Execute(t.Context(), tool.Call{ID: id, Name: name + ".add", Arguments: []byte(arguments)})
	}
	res, err := add("first", `{"text":"ä","priority":"high"}`)
	if err != nil || strings.ReplaceAll(string(res.Structured), " ", "") != `{"notes":1}` {
		t.Fatalf("%q, %s, %v", res.Text(), res.Structured, err)
	}
	if !strings.HasSuffix(shown["first"], "\n+- [high] ä\n") {
		t.Errorf("the preview is %q", shown["first"])
	}
	for _, arguments := range []string{
		`{"text":""}`, `{"text":"a
b"}`, `{}`, `{"text":"a","priority":"none"}`, `{"text":"a","other":1}`,
	} {
		if _, err := add("", arguments); tool.CodeOf(err) != tool.CodeInvalidArguments {
			t.Errorf("%s: %v", arguments, err)
		}
	}
	var calls sync.WaitGroup
	for range 20 {
		calls.Go(func() {
			if _, err := add("", `{"text":"a"}`); err != nil {
				t.Error(err)
			}
		})
	}
	calls.Wait()
	if text, err := os.ReadFile(filepath.Join(root, "NOTES.md")); err != nil || string(text) != "- [high] ä\n"+strings.Repeat("- [normal] a\n", 20) {
		t.Errorf("NOTES.md has %q, %v", text, err)
	}
	status := h.Plugins()[0]
	if status.State != plugin.Ready || status.Starts != 1 {
		t.Errorf("the plugin is %s after %d starts", status.State, status.Starts)
	}
	return status
}

// refuses has the plugin add a note where it must not: its error keeps its code.
func refuses(t *testing.T, plugins string) {
	root := t.TempDir()
	file := filepath.Join(root, "NOTES.md")
	s := open(t, plugins, root, host.WithProtected(file)).Session(host.WithGrants(tool.FSWrite))
	_, err := s.Execute(t.Context(), tool.Call{Name: name + ".add", Arguments: []byte(`{"text":"a"}`)})
	if tool.CodeOf(err) != tool.CodePermissionDenied || !strings.Contains(err.Error(), "NOTES.md") {
		t.Errorf("%v", err)
	}
	if _, err := os.Stat(file); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%s: %v", file, err)
	}
}
