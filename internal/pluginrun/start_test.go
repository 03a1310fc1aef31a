package pluginrun_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/fixture"
	"github.com/toolhost/toolhost/internal/pluginrun"
	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/plugintest"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
	"github.com/toolhost/toolhost/pluginsdk/tooltest"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	tooltest.Run(t, func(t *testing.T) tool.Provider { return open(t, plugintest.Fixture) })
}

// Every way not to start is an error that names the plugin and says why, and
// leaves nothing.
func TestDoesNotStart(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		mode  plugintest.Mode
		texts []string
	}{
		{plugintest.Garbage, []string{`"hello from the plugin\x1b[31m"`, "standard output before its handshake"}},
		{plugintest.Quitter, []string{"exit status 3", "cannot find my configuration"}},
		{plugintest.OldCore, []string{"version 99 of the go-plugin protocol", "this host version 1"}},
		{plugintest.OtherApp, []string{`version 99 of the toolhost protocol`, "this host version 1"}},
		{plugintest.TCP, []string{"network \"tcp\"", "only a unix socket"}},
		{plugintest.Elsewhere, []string{"not in the directory"}},
		{plugintest.NotAsked, []string{"ended before it was ready: exit status 0"}},
	} {
		t.Run(string(c.mode), func(t *testing.T) {
			t.Parallel()
			p := open(t, c.mode)
			ctx, cancel := context.WithTimeout(t.Context(), ceiling)
			defer cancel()
			_, err := p.List(ctx)
			checkStartError(t, err, string(c.mode), c.texts...)
			if s := p.Status(); s.State != plugin.Refused || s.PID != 0 || !strings.Contains(s.Reason, c.texts[0]) {
				t.Errorf("status %+v", s)
			}
		})
	}
}

func checkStartError(t *testing.T, err error, name string, texts ...string) {
	t.Helper()
	var e *tool.Error
	if !errors.As(err, &e) {
		t.Fatalf("got %v, want a *tool.Error", err)
	}
	if e.Code != tool.CodeUnavailable || e.Plugin != name || !e.Unsent || e.Advice() == "" {
		t.Errorf("got %+v", e)
	}
	for _, text := range append(texts, "plugin "+name) {
		if !strings.Contains(e.Message, text) {
			t.Errorf("message %q lacks %q", e.Message, text)
		}
	}
}

func TestSilentPluginTimesOut(t *testing.T) {
	t.Parallel()
	p := open(t, plugintest.Silent, func(c *pluginrun.Config) { c.StartTimeout = 300 * time.Millisecond })
	begin := time.Now()
	_, err := p.List(t.Context())
	checkStartError(t, err, "silent", "not ready within 300ms")
	if took := time.Since(begin); took > ceiling {
		t.Errorf("took %v", took)
	}
}

// A caller that gives up does not end the start for others.
func TestStartOutlivesItsCaller(t *testing.T) {
	t.Parallel()
	p := open(t, plugintest.Fixture)
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := p.List(gone); !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v", err)
	}
	require.Must(p.List(t.Context()))(t)
	if s := p.Status(); s.Starts != 1 || s.State != plugin.Ready || s.PID == 0 {
		t.Errorf("status %+v", s)
	}
}

func TestNotAProgram(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, content, text string }{
		{"truncated", "\x7fELF\x02\x01\x01", "its ELF image is incomplete"},
		{"foreign", "no program at all", "not a program for this machine"},
		{"interpreter", "#!/no/such/interpreter\n", "does not exist"},
		{"script", "#!/bin/sh\necho starting up\n", `"starting up"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), c.name)
			if err := os.WriteFile(path, []byte(c.content), 0o755); err != nil { //nolint:gosec // a program
				t.Fatal(err)
			}
			p := pluginrun.New(plugin.Candidate{Name: c.name, Path: path}, pluginrun.Config{Root: t.TempDir(), TempDir: socketDir(t), Settings: plugin.Settings{StartTimeout: ceiling}})
			_, err := p.List(t.Context())
			checkStartError(t, err, c.name, c.text)
			assert.NoError(t, p.Close(t.Context()))
		})
	}
}

// What the host has is none of a plugin's business.
func TestPluginSeesLittle(t *testing.T) {
	t.Setenv("GOOGLE_API_KEY", "secret")
	t.Setenv("TOOLHOST_TEST_TOKEN", "secret")
	t.Setenv("GOFLAGS", "-buildvcs=false")
	root := require.Must(filepath.EvalSymlinks(t.TempDir()))(t)
	p := open(t, plugintest.Snoop, func(c *pluginrun.Config) {
		c.Env = []string{"NAMED=by the operator"}
		c.Root = root
	})
	var seen plugintest.Seen
	require.NoError(t, json.Unmarshal(call(t, p, "snoop.look", "{}").Structured, &seen))
	for _, kv := range seen.Env {
		assert.NotContainsf(t, kv, "secret", "the plugin sees")
	}
	for _, kv := range []string{"GOFLAGS=-buildvcs=false", "NAMED=by the operator", "PATH=" + os.Getenv("PATH")} {
		if !slices.Contains(seen.Env, kv) {
			t.Errorf("the plugin does not see %s", kv)
		}
	}
	assert.Equalf(t, seen.Stdin, "", "standard input has")
	if len(seen.Files) != 2 || !strings.HasPrefix(seen.Files[0], "3 socket:") || !strings.HasPrefix(seen.Files[1], "4 socket:") { // for gRPC and for calls
		t.Errorf("the plugin inherited %q", seen.Files)
	}
	assert.Equalf(t, seen.Dir, root, "working directory")
}

// A tool that says "unavailable" itself, of a database perhaps, has not lost its
// process, and must not lose it.
func TestToolsOwnUnavailableIsNoCrash(t *testing.T) {
	t.Parallel()
	p := open(t, plugintest.Fixture)
	require.Must(p.List(t.Context()))(t)
	before := p.Status()
	_, err := p.Execute(t.Context(), tool.Call{Name: fixture.CodedTool, Arguments: []byte(`{"code":"unavailable"}`)})
	assert.Equalf(t, tool.CodeOf(err), tool.CodeUnavailable, "got %v, want the tool's own error", err)
	if now := p.Status(); now.PID != before.PID || now.Starts != 1 || now.State != plugin.Ready {
		t.Errorf("the process was ended: %+v, before %+v", now, before)
	}
}

// A plugin that is closed while it is about to start does not start.
func TestCloseEndsAStart(t *testing.T) {
	t.Parallel()
	for range 20 {
		p := open(t, plugintest.Silent)
		started := make(chan error, 1)
		go func() {
			_, err := p.List(t.Context())
			started <- err
		}()
		for p.Status().Starts == 0 {
			runtime.Gosched()
		}
		begin := time.Now()
		assert.NoError(t, p.Close(t.Context()))
		if took := time.Since(begin); took > ceiling/2 {
			t.Errorf("Close took %v: it waited for the start", took)
		}
		if err := <-started; tool.CodeOf(err) != tool.CodeCanceled && tool.CodeOf(err) != tool.CodeUnavailable {
			t.Errorf("the start ended with %v", err)
		}
	}
}
