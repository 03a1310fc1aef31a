package host_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/plugintest"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// inRoot is a host that follows a plugin directory inside its root, in which version 1
// of a plugin was loaded.
func inRoot(t *testing.T, opts ...host.Option) (h *host.Host, dir string) {
	t.Helper()
	root := t.TempDir()
	dir = filepath.Join(root, "bin", "plugins")
	if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // as plugin directories are
		t.Fatal(err)
	}
	plugintest.Deploy(t, dir, "versioned", "1")
	h = newHost(t, append([]host.Option{host.WithRoot(root)}, opts...)...)
	require.Must(h.Load(t.Context(), dir))(t)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- h.Follow(ctx, dir) }()
	t.Cleanup(func() {
		cancel()
		assert.NoError(t, <-ended)
	})
	return h, dir
}

// What changes in the root is not run until the operator says so: what is new, what was
// changed, and what an old process would be started from again.
func TestFollowHoldsWhatChangesInTheRoot(t *testing.T) {
	t.Parallel()
	h, dir := inRoot(t)
	equalVersion := func(want string) {
		t.Helper()
		if got := version(t, h); got != want {
			t.Errorf("version %s answers, want %s", got, want)
		}
	}
	equalVersion("1")
	before := pluginOf(h, "versioned").PID
	plugintest.Deploy(t, dir, "versioned", "2-more")
	plugintest.Install(t, dir, "named-another")
	require.Eventually(t, "the change is held", func() bool {
		return strings.Contains(pluginOf(h, "versioned").Held, "Host.SyncPlugin takes versioned")
	})
	require.Eventually(t, "the new one is held", func() bool { return pluginOf(h, "named-another").Held != "" })
	if s := pluginOf(h, "versioned"); s.PID != before || s.State != plugin.Ready {
		t.Errorf("the old one: %+v", s)
	}
	if s := pluginOf(h, "named-another"); s.State != plugin.Refused || s.PID != 0 || s.Reason == "" {
		t.Errorf("the new one: %+v", s)
	}
	if err := h.Refresh(t.Context(), dir); err != nil { // without the operator's word
		t.Error(err)
	}
	equalVersion("1")

	// A restart leaves it running; when its process ends, none is started from the file.
	assert.ErrorContainsf(t, h.RestartPlugin(t.Context(), "versioned"), "has changed inside the workspace", "a restart")
	equalVersion("1")
	require.NoError(t, syscall.Kill(before, syscall.SIGKILL))
	require.Eventually(t, "the process has ended", func() bool { return pluginOf(h, "versioned").State == plugin.Idle })
	_, err := h.Execute(t.Context(), tool.Call{Name: "versioned.count"})
	var fault *tool.Error
	if !errors.As(err, &fault) || fault.Code != tool.CodeUnavailable || !strings.Contains(fault.Message, "has changed inside the workspace") || !fault.Unsent {
		t.Errorf("a call meanwhile: %v", err)
	}
	require.NoError(t, h.SyncPlugin(t.Context(), "versioned", dir))
	equalVersion("2-more")
	if s := pluginOf(h, "versioned"); s.Held != "" || s.Tools != 3 {
		t.Errorf("after the word: %+v", s)
	}
	if s := pluginOf(h, "named-another"); s.Held == "" || s.PID != 0 {
		t.Errorf("the word was for another: %+v", s)
	}
	assert.NoError(t, h.Sync(t.Context(), dir))
	if s := pluginOf(h, "named-another"); s.Held != "" || s.State != plugin.Ready {
		t.Errorf("the word was for all: %+v", s)
	}

	// One that goes away is held too, and one that is as it was before is not.
	path := filepath.Join(dir, "versioned")
	require.NoError(t, os.Rename(path, filepath.Join(dir, ".away")))
	require.Eventually(t, "the loss is held", func() bool { return strings.Contains(pluginOf(h, "versioned").Held, "was removed") })
	equalVersion("2-more")
	require.NoError(t, os.Rename(filepath.Join(dir, ".away"), path))
	require.Eventually(t, "all is as it was", func() bool { return pluginOf(h, "versioned").Held == "" })
	require.NoError(t, os.Remove(path))
	assert.NoError(t, h.Sync(t.Context(), dir))
	if s := pluginOf(h, "versioned"); s.Name != "" {
		t.Errorf("it was withdrawn: %+v", s)
	}
}

// Settings are the operator's, so they hold though the plugin lies in the root.
func TestSettingsHoldInTheRoot(t *testing.T) {
	t.Parallel()
	h, dir := inRoot(t)
	require.NoError(t, h.Reconfigure(host.WithPluginSettings(func(_ string, s *plugin.Settings) { s.Enabled = false })))
	require.NoError(t, h.Refresh(t.Context(), dir))
	if s := pluginOf(h, "versioned"); s.State != plugin.Disabled || s.Held != "" {
		t.Errorf("it is %+v", s)
	}
}

// An embedding program may follow its root.
func TestFollowInTheRoot(t *testing.T) {
	t.Parallel()
	h, dir := inRoot(t, host.WithHolding(false))
	plugintest.Deploy(t, dir, "versioned", "2")
	require.Eventually(t, "version 2", func() bool { return version(t, h) == "2" })
}

// A file in the root runs with the content that was let run and with no other, whatever size, times and inode say.
func TestContentDecidesInTheRoot(t *testing.T) {
	t.Parallel()
	for how, change := range map[string]func(path string, other []byte) error{
		"written in place": func(path string, other []byte) error { return os.WriteFile(path, other, 0) },
		"written by a mapping": func(path string, other []byte) error {
			f, err := os.OpenFile(path, os.O_RDWR, 0)
			if err != nil {
				return err
			}
			mapped, err := syscall.Mmap(int(f.Fd()), 0, len(other), syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
			copy(mapped, other)
			return errors.Join(err, syscall.Munmap(mapped), f.Close())
		},
	} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			dir := filepath.Join(root, "plugins")
			require.NoError(t, os.Mkdir(dir, 0o755)) //nolint:gosec // as plugin directories are
			plugintest.Deploy(t, dir, "versioned", "1")
			path := filepath.Join(dir, "versioned")
			h := newHost(t, host.WithRoot(root), host.WithState(t.TempDir()))
			require.Must(h.Load(t.Context(), dir))(t)
			served := pluginOf(h, "versioned")
			before := require.Must(os.Stat(path))(t)
			other := bytes.Replace(require.Must(os.ReadFile(path))(t), []byte("'1'"), []byte("'2'"), 1)
			require.NoError(t, change(path, other))
			require.NoError(t, os.Chtimes(path, time.Time{}, before.ModTime()))
			after := require.Must(os.Stat(path))(t)
			if !os.SameFile(before, after) || before.Size() != after.Size() || !before.ModTime().Equal(after.ModTime()) {
				t.Fatal("size, times or inode tell")
			}
			assert.ErrorContainsf(t, h.RestartPlugin(t.Context(), "versioned"), "has changed inside the workspace", "a restart")
			if s := pluginOf(h, "versioned"); s.PID != served.PID {
				t.Errorf("it serves no longer: %+v", s)
			}
			require.NoError(t, syscall.Kill(served.PID, syscall.SIGKILL))
			require.Eventually(t, "the process has ended", func() bool { return pluginOf(h, "versioned").State == plugin.Idle })
			if result, err := h.Execute(t.Context(), tool.Call{Name: "versioned.count"}); err == nil && result.Text() != "1" {
				t.Errorf("it runs as %s", result.Text())
			}
			require.NoError(t, h.Refresh(t.Context(), dir)) // without the operator's word
			if s := pluginOf(h, "versioned"); !strings.Contains(s.Held, "has changed inside the workspace") {
				t.Errorf("it is not held: %+v", s)
			}
			require.NoError(t, h.SyncPlugin(t.Context(), "versioned", dir))
			if got := version(t, h); got != "2" {
				t.Errorf("after the word, version %s answers", got)
			}
		})
	}
}
