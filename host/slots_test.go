package host_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/plugintest"
	"github.com/toolhost/toolhost/internal/test/require"
)

// However many plugins are put into a directory at once, a few start at a time, by the
// plugins' own ledger.
func TestStartsAtATime(t *testing.T) {
	t.Parallel()
	limit := max(4, 2*runtime.NumCPU())
	plugins := 3 * limit
	program := "#!/bin/sh\necho + >>ledger\nsleep 0.1\necho - >>ledger\nexit 3\n"
	for how, begin := range map[string]func(ctx context.Context, h *host.Host, dir string){
		"Load": func(ctx context.Context, h *host.Host, dir string) { _, _ = h.Load(ctx, dir) },
		"Sync": func(ctx context.Context, h *host.Host, dir string) { _ = h.Sync(ctx, dir) },
		"Follow": func(ctx context.Context, h *host.Host, dir string) {
			assert.NoError(t, h.Follow(ctx, dir))
		},
	} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			dir, root := plugintest.Dir(t), t.TempDir()
			for i := range plugins {
				if err := os.WriteFile(filepath.Join(dir, fmt.Sprint("p", i)), []byte(program), 0o700); err != nil { //nolint:gosec // a program
					t.Fatal(err)
				}
			}
			h := newHost(t, host.WithRoot(root))
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan struct{})
			go func() {
				defer close(done)
				begin(ctx, h, dir)
			}()
			var ledger []string
			require.Eventually(t, "all have ended", func() bool {
				text, _ := os.ReadFile(filepath.Join(root, "ledger"))
				ledger = strings.Fields(string(text))
				return strings.Count(string(text), "-") == plugins
			})
			cancel()
			<-done
			now, most := 0, 0
			for _, line := range ledger {
				if line == "+" {
					now++
				} else {
					now--
				}
				most = max(most, now)
			}
			if most > limit || most < 1 {
				t.Errorf("%d of %d started at a time, want %d at most", most, plugins, limit)
			}
		})
	}
}

// A plugin that the lock does not list is refused by its name: its bytes, which may be
// very many, are not read. One of too many bytes is refused as it is.
func TestNamesComeBeforeBytes(t *testing.T) {
	t.Parallel()
	dir, path := plugintest.Dir(t, plugintest.Named), filepath.Join(t.TempDir(), "toolhost.lock")
	lock := pinAll(t, dir, path)
	for name, size := range map[string]int64{"unlisted": 2 << 30, "huge": 4 << 40} {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, nil, 0o700); err != nil { //nolint:gosec // a program
			t.Fatal(err)
		}
		if err := os.Truncate(file, size); err != nil {
			t.Skip("this file system has no such files:", err)
		}
	}
	lock.Plugins["huge"] = lock.Plugins["named"]
	require.NoError(t, lock.Write(path))
	for _, cache := range [][]host.Option{nil, {host.WithCache(t.TempDir())}} {
		h := newHost(t, append(cache, host.WithLocks(host.Lock{File: path}))...)
		n, err := h.Load(t.Context(), dir)
		if n == 0 || err == nil {
			t.Fatalf("%d tools, %v", n, err)
		}
		want := map[string]string{
			"unlisted": "plugin unlisted does not run, as it is not what toolhost.lock pins: not pinned",
			"huge":     "plugin huge did not start: it has 4398046511104 bytes, more than the 2147483648 that a binary may have",
		}
		for _, fault := range faultsOf(err) {
			assert.Equalf(t, fault.Message, want[fault.Plugin], "%s", fault.Plugin)
			delete(want, fault.Plugin)
		}
		if len(want) > 0 {
			t.Errorf("not refused: %v", want)
		}
	}
}
