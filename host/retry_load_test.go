package host_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/test/plugintest"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// mended is a plugin that does not start until the file "mended" is in the workspace, and
// leaves a line in the file "tried" there each time it is started.
func mended(t *testing.T, dir, name, otherwise string) {
	t.Helper()
	good := plugintest.Install(t, t.TempDir(), string(plugintest.Versioned))
	text := "#!/bin/sh\necho x >>tried\n[ -e mended ] && exec '" + good + "' 1\n" + otherwise + "\n"
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o755); err != nil { //nolint:gosec // a program
		t.Fatal(err)
	}
}

func tried(root string) int {
	text, _ := os.ReadFile(filepath.Join(root, "tried"))
	return strings.Count(string(text), "x")
}

func mend(t *testing.T, root string) {
	t.Helper()
	require.NoError(t, os.WriteFile(filepath.Join(root, "mended"), nil, 0o600))
}

// What did not start is told each time it is asked for, and tried again: by Load, Sync and
// a call of one of its tools.
func TestWhatFailedIsTriedAgain(t *testing.T) {
	t.Parallel()
	for name, again := range map[string]func(h *host.Host, dir string) error{
		"load": func(h *host.Host, dir string) error { _, err := h.Load(context.Background(), dir); return err },
		"sync": func(h *host.Host, dir string) error { return h.Sync(context.Background(), dir) },
		"call": func(h *host.Host, _ string) error {
			_, err := h.Execute(context.Background(), tool.Call{Name: "versioned.count"})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, root := t.TempDir(), t.TempDir()
			mended(t, dir, "versioned", "exit 3")
			h := newHost(t, host.WithRoot(root))
			if _, err := h.Load(t.Context(), dir); tool.CodeOf(err) != tool.CodeUnavailable {
				t.Fatalf("Load: %v", err)
			}
			if err := again(h, dir); tool.CodeOf(err) != tool.CodeUnavailable || !strings.Contains(err.Error(), "plugin versioned did not start") {
				t.Errorf("again: %v", err)
			}
			mend(t, root)
			if err := again(h, dir); err != nil {
				t.Errorf("when it is mended: %v", err)
			}
			if version(t, h) != "1" || pluginOf(h, "versioned").State != plugin.Ready {
				t.Errorf("%+v", pluginOf(h, "versioned"))
			}
		})
	}
}

// A plugin that fails again and again is tried after growing pauses, and in between
// whoever asks is told at once; the operator's word counts at any time.
func TestWhatFailsIsTriedAfterPauses(t *testing.T) {
	t.Parallel()
	dir, root := t.TempDir(), t.TempDir()
	mended(t, dir, "versioned", "exit 3")
	h := newHost(t, host.WithRoot(root))
	for range 6 {
		_, err := h.Load(t.Context(), dir)
		if tool.CodeOf(err) != tool.CodeUnavailable || !strings.Contains(err.Error(), "exit status 3") {
			t.Fatalf("Load: %v", err)
		}
	}
	if n := tried(root); n != 3 {
		t.Errorf("it was started %d times in 6 loads, want 3", n)
	}
	mend(t, root)
	_, err := h.Execute(t.Context(), tool.Call{Name: "versioned.count"})
	var e *tool.Error
	if !errors.As(err, &e) || e.Code != tool.CodeUnavailable || e.RetryAfter <= 0 || !strings.Contains(e.OperatorHint, "Host.RestartPlugin") {
		t.Errorf("in the pause: %#v", err)
	}
	if err := h.RestartPlugin(t.Context(), "versioned"); err != nil || version(t, h) != "1" {
		t.Errorf("restarted: %v", err)
	}
}

// A Load that was cancelled leaves nothing behind, and Loads side by side return when the
// tools are there.
func TestLoadsSideBySide(t *testing.T) {
	t.Parallel()
	dir := plugintest.Dir(t, plugintest.Fixture)
	h := newHost(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if n, err := h.Load(ctx, dir); n != 0 || err == nil {
		t.Fatalf("cancelled: %d, %v", n, err)
	}
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			if n, err := h.Load(t.Context(), dir); n == 0 || err != nil {
				t.Errorf("%d tools, %v", n, err)
			}
		})
	}
	all.Wait()
	if s := pluginOf(h, "fixture"); s.State != plugin.Ready || s.Starts != 1 {
		t.Errorf("%+v", s)
	}
}

// A plugin that never shakes hands keeps the first host that meets it waiting, and no
// other: its failure is in the cache, until its file or settings change or a person asks
// for it.
func TestMutePluginKeepsNobodyWaiting(t *testing.T) {
	t.Parallel()
	dir, root, cache := plugintest.Dir(t, plugintest.Fixture), t.TempDir(), t.TempDir()
	mended(t, dir, "mute", "exec sleep 600")
	const limit = 10 * time.Second // a failure is slow from one second on
	opts := []host.Option{host.WithRoot(root), host.WithCache(cache), host.WithPluginSettings(func(name string, s *plugin.Settings) {
		if name == "mute" {
			s.StartTimeout = limit
		}
	})}
	for i := range 3 {
		h := newHost(t, opts...)
		_, err := h.Load(t.Context(), dir)
		if tool.CodeOf(err) != tool.CodeUnavailable || !strings.Contains(err.Error(), "plugin mute did not start: not ready within 10s") {
			t.Errorf("host %d: %v", i, err)
		}
		if n := tried(root); n != 1 {
			t.Fatalf("host %d: it was started %d times", i, n)
		}
		if s := pluginOf(h, "mute"); s.State != plugin.Refused || !strings.Contains(s.Reason, "not ready within 10s") {
			t.Errorf("host %d: %+v", i, s)
		}
		if out := h.Call(t.Context(), tool.Call{Name: "test.echo", Arguments: []byte(`{"text":"x"}`)}); !out.Success {
			t.Errorf("host %d: the neighbour: %+v", i, out)
		}
		for name, text := range map[string]string{
			"mute":       "tool mute is not available: plugin mute did not start",
			"mute.x":     "tool mute.x is not available: plugin mute did not start",
			"get_season": "Unknown tool: get_season (unless it is one of a plugin that is not available: plugin mute did not start",
		} {
			out := h.Call(t.Context(), tool.Call{Name: name})
			if out.Success || out.Error.Code != tool.CodeUnavailable || !strings.HasPrefix(out.Error.Message, text) {
				t.Errorf("host %d: %s: %+v", i, name, out.Error)
			}
		}
	}
	mend(t, root)
	h := newHost(t, opts...)
	if _, err := h.Load(t.Context(), dir); tool.CodeOf(err) != tool.CodeUnavailable {
		t.Errorf("in the pause: %v", err)
	}
	if err := h.Sync(t.Context(), dir); err != nil || version(t, h) != "1" {
		t.Errorf("the operator asks: %v", err)
	}
	h = newHost(t, opts...)
	if _, err := h.Load(t.Context(), dir); err != nil || len(h.Plugins()) != 2 || tried(root) != 2 {
		t.Errorf("the failure is not forgotten: %v", err)
	}
}
