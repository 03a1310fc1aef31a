package host_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/plugintest"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// socketsOf is the directory in which a host has its plugins' sockets.
func socketsOf(t *testing.T, h *host.Host) string {
	t.Helper()
	var seen plugintest.Seen
	require.NoError(t, json.Unmarshal(require.Must(h.Execute(t.Context(), tool.Call{Name: "snoop.look"}))(t).Structured, &seen))
	for _, kv := range seen.Env {
		if dir, ok := strings.CutPrefix(kv, "PLUGIN_UNIX_SOCKET_DIR="); ok {
			return filepath.Dir(dir)
		}
	}
	t.Fatal("where are the sockets?")
	return ""
}

// A host whose socket directory is gone, by a plugin's hand or because a program cleans up the
// directory for temporary files, makes another. What has the path by then is not its own:
// it is not used, and stays when the host closes.
func TestSocketDirectoryIsGone(t *testing.T) {
	t.Parallel()
	for what, replace := range map[string]func(dir, kept string) error{
		"removed":   func(string, string) error { return nil },
		"a link":    func(dir, kept string) error { return os.Symlink(kept, dir) },
		"exchanged": func(dir, kept string) error { return os.Rename(kept, dir) },
		"a file":    func(dir, _ string) error { return os.WriteFile(dir, []byte("kept"), 0o600) },
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			// Next to the directory, so that it can be moved into its place.
			kept := require.Must(os.MkdirTemp("/tmp", "th-kept-"))(t)
			t.Cleanup(func() { _ = os.RemoveAll(kept) })
			require.NoError(t, os.WriteFile(filepath.Join(kept, "file"), []byte("kept"), 0o600))
			h := newHost(t)
			require.Must(h.Load(t.Context(), plugintest.Dir(t, plugintest.Snoop, plugintest.Crasher)))(t)
			before := socketsOf(t, h)
			t.Cleanup(func() { _ = os.RemoveAll(before) })
			moved := before + "-moved" // a directory that is only removed could give the next its number
			require.NoError(t, errors.Join(os.Rename(before, moved), replace(before, kept)))
			t.Cleanup(func() { _ = os.RemoveAll(moved) })
			if _, err := h.Execute(t.Context(), tool.Call{Name: "crash.exit", Arguments: []byte(`{"code":1}`)}); tool.CodeOf(err) != tool.CodeCrashed {
				t.Errorf("the crash: %v", err)
			}
			if _, err := h.Execute(t.Context(), tool.Call{Name: "crash.pid"}); err != nil {
				t.Errorf("the next start: %v", err)
			}
			assert.NoError(t, h.RestartPlugin(t.Context(), "snoop"))
			after := socketsOf(t, h)
			if after == before {
				t.Errorf("the sockets are in %s again", after)
			}
			assert.NoError(t, h.Close(t.Context()))
			if _, err := os.Lstat(after); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("%s is there: %v", after, err)
			}
			path := map[string]string{"removed": filepath.Join(kept, "file"), "a file": before}[what]
			if path == "" { // through the link, or in its new place
				path = filepath.Join(before, "file")
			}
			if text, err := os.ReadFile(path); string(text) != "kept" {
				t.Errorf("what was in the directory's place has %q, %v", text, err)
			}
		})
	}
}
