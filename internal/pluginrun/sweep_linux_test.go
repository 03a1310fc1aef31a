package pluginrun_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/confine"
	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/growing"
	"github.com/toolhost/toolhost/internal/test/plugintest"
	"github.com/toolhost/toolhost/internal/test/require"
)

// With namespaces, a host that is killed takes everything with it. Without, the next host
// ends what is left, and removes its sockets. A host that lives loses nothing.
func TestSweepAfterAKilledHost(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, n plugin.Namespace) {
		tmp := shortDir(t)
		neighbour := open(t, escaper, in(plugin.NamespaceOff))
		neighbours := structured[int](t, neighbour, "escape.session")
		ours := filepath.Join(tmp, "toolhost-ours")
		nobodys := filepath.Join(tmp, "toolhost-nobodys")
		for _, dir := range []string{ours, nobodys} {
			require.NoError(t, os.Mkdir(dir, 0o700))
		}
		require.NoError(t, confine.Claim(ours))

		h := startHost(t, tmp, plugintest.Dir(t, escaper), hostNamespace+"="+string(n))
		child, process := h.number(t), h.number(t)
		if !alive(child) || !alive(process) {
			t.Fatalf("descendant %d or plugin %d does not live", child, process)
		}
		h.kill(t)
		awaitEnd(t, process)
		if n == plugin.NamespaceAuto && namespaced(t) {
			awaitEnd(t, child)
		} else if !alive(child) {
			t.Log("the descendant has ended by itself, so nothing is left to sweep")
		}

		swept := confine.Sweep(t.Context(), tmp)
		awaitEnd(t, child)
		assert.Equalf(t, swept.Directories, 1, "swept %+v, want the one directory of the host that was killed", swept)
		if left, err := filepath.Glob(filepath.Join(tmp, "toolhost-*")); err != nil || len(left) != 2 {
			t.Errorf("left %v, %v", left, err)
		}
		if !alive(neighbours) || !alive(neighbour.Status().PID) {
			t.Error("a living host's processes were ended")
		}
	})
}

// Directories that only look like a host's are left alone.
func TestSweepTouchesNothingElse(t *testing.T) {
	t.Parallel()
	tmp := shortDir(t)
	elsewhere := t.TempDir()
	me := filepath.Join(tmp, "toolhost-me")
	for _, dir := range []string{"toolhost-me", "toolhost-open", "toolhost-fifo", "toolhost-text", "toolhost-boot", "other"} {
		require.NoError(t, os.Mkdir(filepath.Join(tmp, dir), 0o700))
	}
	require.NoError(t, confine.Claim(me))
	text := require.Must(os.ReadFile(filepath.Join(me, "owner")))(t)
	_, after, _ := strings.Cut(string(text), ".")
	dead := strconv.Itoa(1<<30) + "." + after
	boot := strings.TrimSpace(dead) + "x"
	for path, text := range map[string]string{
		"toolhost-open/owner": dead, "toolhost-text/owner": "1.2.3", "toolhost-boot/owner": boot, "other/owner": dead, "toolhost-file": dead,
	} {
		require.NoError(t, os.WriteFile(filepath.Join(tmp, path), []byte(text), 0o600))
	}
	if err := errors.Join(
		os.WriteFile(filepath.Join(elsewhere, "owner"), []byte(dead), 0o600),
		os.Symlink(elsewhere, filepath.Join(tmp, "toolhost-link")),
		os.Chmod(filepath.Join(tmp, "toolhost-open"), 0o770), //nolint:gosec // what is tested
		syscall.Mkfifo(filepath.Join(tmp, "toolhost-fifo/owner"), 0o600),
	); err != nil {
		t.Fatal(err)
	}
	if swept := confine.Sweep(t.Context(), tmp); swept.Directories != 0 || confine.Left(t.Context(), tmp) {
		t.Errorf("swept %+v", swept)
	}
	// And the one that is as it should be goes.
	require.NoError(t, os.WriteFile(filepath.Join(me, "owner"), []byte(dead), 0o600))
	if !confine.Left(t.Context(), tmp) {
		t.Error("a dead host's directory is not found")
	}
	if swept := confine.Sweep(t.Context(), tmp); swept.Directories != 1 {
		t.Errorf("swept %+v", swept)
	}
	if _, err := os.Stat(me); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a dead host's directory is there: %v", err)
	}
}

// A directory of a dead host that grows while it is removed is left, and the next one is
// removed all the same.
func TestSweepOfWhatGrows(t *testing.T) {
	t.Parallel()
	tmp := shortDir(t)
	evil, still := filepath.Join(tmp, "toolhost-evil"), filepath.Join(tmp, "toolhost-still")
	for _, dir := range []string{evil, still} {
		require.NoError(t, os.Mkdir(dir, 0o700))
		require.NoError(t, confine.Claim(dir))
		text := require.Must(os.ReadFile(filepath.Join(dir, "owner")))(t)
		_, after, _ := strings.Cut(string(text), ".")
		require.NoError(t, os.WriteFile(filepath.Join(dir, "owner"), []byte(strconv.Itoa(1<<30)+"."+after), 0o600))
	}
	growing.Directory(t, evil)
	begin := time.Now()
	swept := confine.Sweep(t.Context(), tmp)
	if took := time.Since(begin); took > 20*time.Second {
		t.Errorf("it took %v", took)
	}
	if _, err := os.Stat(still); !errors.Is(err, fs.ErrNotExist) || swept.Directories < 1 {
		t.Errorf("swept %+v, and the other directory: %v", swept, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if swept := confine.Sweep(ctx, tmp); swept.Directories != 0 {
		t.Errorf("after its end, swept %+v", swept)
	}
}

func BenchmarkSweep(b *testing.B) {
	tmp := b.TempDir()
	for b.Loop() {
		confine.Sweep(b.Context(), tmp)
	}
}
