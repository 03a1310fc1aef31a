package host_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/plugintest"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// follow follows a directory until the test has ended.
func follow(t *testing.T, h *host.Host, dir string) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- h.Follow(ctx, dir) }()
	t.Cleanup(func() {
		cancel()
		assert.NoError(t, <-ended)
	})
}

func answers(t *testing.T, h *host.Host, want string) func() bool {
	return func() bool {
		res, err := h.Execute(t.Context(), tool.Call{Name: "versioned.count"})
		return err == nil && res.Text() == want
	}
}

// A plugin may be a link, as Nix, stow and Kubernetes make them. Exchanging a link anywhere on
// the way is an upgrade.
func TestFollowLinks(t *testing.T) {
	t.Parallel()
	dir, store := t.TempDir(), t.TempDir()
	exchange := func(link, target string) {
		t.Helper()
		require.NoError(t, os.Symlink(target, link+".new"))
		require.NoError(t, os.Rename(link+".new", link))
	}
	for _, v := range []string{"1", "2", "3"} {
		if err := os.Mkdir(filepath.Join(store, v), 0o755); err != nil { //nolint:gosec // as package managers do
			t.Fatal(err)
		}
		plugintest.Deploy(t, filepath.Join(store, v), "weather", v)
	}
	current := filepath.Join(store, "current")
	exchange(current, "1")
	exchange(filepath.Join(dir, "weather"), filepath.Join(current, "weather"))
	h := newHost(t, host.WithRoot(t.TempDir()))
	follow(t, h, dir)
	require.Eventually(t, "version 1", answers(t, h, "1"))
	if s := pluginOf(h, "weather"); s.Path != filepath.Join(dir, "weather") {
		t.Errorf("its path is %s", s.Path)
	}
	exchange(current, "2")
	require.Eventually(t, "version 2", answers(t, h, "2"))
	exchange(filepath.Join(dir, "weather"), filepath.Join(store, "3", "weather"))
	require.Eventually(t, "version 3", answers(t, h, "3"))
	if protected := strings.Join(h.Protected(), "\n"); !strings.Contains(protected, filepath.Join(store, "3", "weather")) {
		t.Errorf("tools may change what the link leads to: %s", protected)
	}
	require.NoError(t, os.Remove(filepath.Join(store, "3", "weather")))
	require.Eventually(t, "withdrawn", func() bool { return h.Len() == 0 })
}

// The same bytes are not started again, whatever the file's times say.
func TestFollowTouch(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	plugintest.Deploy(t, dir, "versioned", "1")
	old := time.Now().Add(-time.Hour)
	touch := func(to time.Time) {
		t.Helper()
		require.NoError(t, os.Chtimes(filepath.Join(dir, "versioned"), to, to))
	}
	touch(old)
	h := newHost(t, host.WithRoot(t.TempDir()), host.WithCache(t.TempDir()))
	require.Must(h.Load(t.Context(), dir))(t)
	require.Eventually(t, "version 1", answers(t, h, "1"))
	before := pluginOf(h, "versioned").PID
	touch(time.Now())
	// Sync has done all that is to be done when it returns, Follow the same at its looks.
	require.NoError(t, h.Sync(t.Context(), dir))
	text := require.Must(os.ReadFile(filepath.Join(dir, "versioned")))(t)
	again := filepath.Join(dir, ".again")
	if err := os.WriteFile(again, text, 0o755); err != nil { //nolint:gosec // a program
		t.Fatal(err)
	}
	if err := os.Rename(again, filepath.Join(dir, "versioned")); err != nil { // another file with the same bytes
		t.Fatal(err)
	}
	if err := h.Sync(t.Context(), dir); err != nil || !answers(t, h, "1")() {
		t.Fatal(err)
	}
	if s := pluginOf(h, "versioned"); s.PID != before || s.Starts != 1 || len(h.Status().Draining) != 0 {
		t.Errorf("process %d was started again: %+v", before, s)
	}
	plugintest.Deploy(t, dir, "versioned", "2")
	if err := h.Sync(t.Context(), dir); err != nil || !answers(t, h, "2")() {
		t.Errorf("other bytes are not taken: %v", err)
	}
}

// A copy that opens its file again for each part is not run before the last part is there,
// and none of its writes finds the file busy.
func TestFollowCopyInParts(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	program := require.Must(os.ReadFile(os.Args[0]))(t)
	log := &logbook{}
	h := newHost(t, host.WithRoot(t.TempDir()), host.WithLogger(log.logger()))
	follow(t, h, dir)
	at := filepath.Join(dir, "fixture")
	const parts = 4
	for i := range parts {
		f, err := os.OpenFile(at, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o755) //nolint:gosec // a program
		require.NoError(t, err)
		if _, err = f.Write(program[i*len(program)/parts : (i+1)*len(program)/parts]); err != nil {
			t.Fatal(err)
		}
		require.NoError(t, f.Close())
		if i+1 == parts {
			break
		}
		require.Eventually(t, "the part is seen", func() bool { return strings.Contains(pluginOf(h, "fixture").Reason, "incomplete") })
		other := "other" + string(rune('a'+i))
		plugintest.Deploy(t, dir, other, "1") // takes two looks, and a start
		require.Eventually(t, "it has looked meanwhile", func() bool { return pluginOf(h, other).State == plugin.Ready })
		if s := pluginOf(h, "fixture"); s.State != plugin.Refused || !strings.Contains(s.Reason, "incomplete") {
			t.Errorf("part %d was run: %+v", i, s)
		}
	}
	require.Eventually(t, "it serves", func() bool { return pluginOf(h, "fixture").State == plugin.Ready })
}

// What is wrong with a directory shows as long as it lasts.
func TestFollowTellsFaults(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	log := &logbook{}
	h := newHost(t, host.WithRoot(t.TempDir()), host.WithLogger(log.logger()))
	follow(t, h, dir)
	if err := os.Chmod(dir, 0o777); err != nil { //nolint:gosec // that is what is refused
		t.Fatal(err)
	}
	require.Eventually(t, "it is told", func() bool {
		all := h.Status().Faults
		return len(all) == 1 && strings.Contains(all[0].Message, "others may write to "+dir)
	})
	if !log.says("others may write to " + dir) {
		t.Error("the log does not tell")
	}
	if err := os.Chmod(dir, 0o755); err != nil { //nolint:gosec // as plugin directories are
		t.Fatal(err)
	}
	require.Eventually(t, "it is over", func() bool { return len(h.Status().Faults) == 0 })
}

// A process that was replaced is listed until its calls have ended.
func TestDraining(t *testing.T) {
	t.Parallel()
	dir, root := t.TempDir(), t.TempDir()
	plugintest.Deploy(t, dir, "versioned", "1")
	h := newHost(t, host.WithRoot(root))
	require.Must(h.Load(t.Context(), dir))(t)
	answered := make(chan error, 1)
	go func() {
		_, err := h.Execute(t.Context(), tool.Call{Name: "versioned.wait", Arguments: []byte(`{"file":"go"}`)})
		answered <- err
	}()
	require.Eventually(t, "the call runs", func() bool { return pluginOf(h, "versioned").Calls == 1 })
	old := pluginOf(h, "versioned").PID
	plugintest.Deploy(t, dir, "versioned", "2")
	if err := h.Sync(t.Context(), dir); err != nil || !answers(t, h, "2")() {
		t.Fatal(err)
	}
	all := h.Status().Draining
	if len(all) != 1 || all[0].PID != old || all[0].State != plugin.Draining || all[0].Calls != 1 || all[0].Version != "1" {
		t.Errorf("draining: %+v, want process %d", all, old)
	}
	require.NoError(t, os.WriteFile(filepath.Join(root, "go"), nil, 0o600))
	assert.NoError(t, <-answered)
	require.Eventually(t, "it is gone", func() bool { return len(h.Status().Draining) == 0 })
}
