package control_test

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/control"
	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Of many that want a socket one gets it, again and again, and nothing is left.
func TestTake(t *testing.T) {
	t.Parallel()
	dir := require.Must(os.MkdirTemp("/tmp", "thc-"))(t)
	defer func() { _ = os.RemoveAll(dir) }()
	path := filepath.Join(dir, "new", "c.sock")
	var held sync.Mutex
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for had := 0; had < 20; {
				claim, err := control.Take(path, control.Holder{PID: 1 + i, Since: time.Now(), Root: "/r"})
				if tool.CodeOf(err) == tool.CodeAlreadyExists {
					continue
				}
				if err != nil {
					t.Error(err)
					return
				}
				if !held.TryLock() {
					t.Error("two have it")
				} else {
					held.Unlock()
				}
				held.Lock()
				had++
				ln, err := claim.Listen(1, admits, func(error) {})
				if err != nil {
					t.Error(err)
				} else {
					_ = ln.Close()
				}
				held.Unlock()
				assert.NoError(t, claim.Release())
			}
		})
	}
	all.Wait()
	if left, err := os.ReadDir(filepath.Dir(path)); err != nil || len(left) > 0 {
		t.Errorf("it leaves %v, %v", left, err)
	}
}

// Leftovers of a crash, or a damaged lock, do not matter, and a daemon that lost its lock keeps
// its socket.
func TestTakeOverLeftovers(t *testing.T) {
	t.Parallel()
	d := newDaemon(t)
	lock := control.Files(d.path)[1]
	content := require.Must(os.ReadFile(lock))(t)
	if _, err := control.Take(d.path, control.Holder{}); tool.CodeOf(err) != tool.CodeAlreadyExists || !strings.Contains(err.Error(), "/here") {
		t.Errorf("it is taken: %v", err)
	}
	require.NoError(t, os.WriteFile(lock, []byte("{nonsense"), 0o600))
	if _, err := control.Take(d.path, control.Holder{}); tool.CodeOf(err) != tool.CodeAlreadyExists || !strings.Contains(err.Error(), "another daemon has the socket") {
		t.Errorf("it is taken: %v", err)
	}
	require.NoError(t, os.Rename(lock, lock+".away"))
	claim := require.Must(control.Take(d.path, control.Holder{}))(t)
	if _, err := claim.Listen(1, admits, func(error) {}); tool.CodeOf(err) != tool.CodeAlreadyExists {
		t.Errorf("it listens: %v", err)
	}
	assert.NoError(t, claim.Release())
	d.serves()
	require.NoError(t, os.WriteFile(lock+".away", content, 0o600))
	require.NoError(t, os.Rename(lock+".away", lock))
}

func TestDifference(t *testing.T) {
	t.Parallel()
	daemon := control.Identity{Root: "/a", Config: "/c", ConfigDigest: "1", PluginDirs: []string{"/p", "/q"}}
	for want, command := range map[string]control.Identity{
		"":                                  daemon,
		"its root is /a, this command's /b": {Root: "/b", Config: "/c", ConfigDigest: "1", PluginDirs: daemon.PluginDirs},
		"its configuration is /c, this command's none":                     {Root: "/a", PluginDirs: daemon.PluginDirs},
		"it runs with an earlier version of /c":                            {Root: "/a", Config: "/c", ConfigDigest: "2", PluginDirs: daemon.PluginDirs},
		"its plugin directory is /p and /q, this command's /q and /p":      {Root: "/a", Config: "/c", ConfigDigest: "1", PluginDirs: []string{"/q", "/p"}},
		"its root is /a, this command's /b; its configuration is /c, this": {Root: "/b", Config: "/d", PluginDirs: daemon.PluginDirs},
	} {
		if got := daemon.Difference(command); !strings.HasPrefix(got, want) || want == "" && got != "" {
			t.Errorf("the difference is %q, want %q", got, want)
		}
	}
}

// A file that no daemon wrote is neither written over nor removed, whatever it is called.
func TestTakeLeavesOthersFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	socket := filepath.Join(dir, "toolhost.sock")
	pins, odd := filepath.Join(dir, "toolhost.lock"), control.Files(socket)[1]
	for _, path := range []string{pins, odd} {
		require.NoError(t, os.WriteFile(path, []byte("another's"), 0o600))
	}
	if _, err := control.Take(socket, control.Holder{PID: os.Getpid()}); tool.CodeOf(err) != tool.CodeAlreadyExists || !strings.Contains(err.Error(), odd) {
		t.Errorf("a lock that is not a daemon's: %v", err)
	}
	require.NoError(t, os.Rename(odd, odd+"-kept"))
	claim := require.Must(control.Take(socket, control.Holder{PID: os.Getpid()}))(t)
	// One that came in its place is not removed with it.
	require.NoError(t, os.Rename(odd+"-kept", odd))
	assert.NoError(t, claim.Release())
	for _, path := range []string{pins, odd} {
		if text, err := os.ReadFile(path); string(text) != "another's" || err != nil {
			t.Errorf("%s: %q, %v", filepath.Base(path), text, err)
		}
	}
}

// admits lets in this user alone.
func admits(uid int) bool { return uid == os.Geteuid() }
