package host_test

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/test/plugintest"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// What is in a plugin directory and is not a plugin is skipped without being opened,
// and the operator is told. (host/plugin's TestDiscover has the rules for names and
// modes one by one.)
func TestHostileDirectory(t *testing.T) {
	t.Parallel()
	dir := plugintest.Dir(t, plugintest.Snoop)
	outside := filepath.Join(t.TempDir(), "outside")
	if err := os.WriteFile(outside, []byte("#!/bin/sh\ntouch ran\n"), 0o755); err != nil { //nolint:gosec // a program
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Dir(outside), 0o777); err != nil { //nolint:gosec // others may exchange it
		t.Fatal(err)
	}
	at := func(name string) string { return filepath.Join(dir, name) }
	want := map[string]string{}
	add := func(name, reason string, err error) {
		t.Helper()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		want[name] = reason
	}
	file := func(name string, mode os.FileMode) error {
		if err := os.WriteFile(at(name), []byte("#!/bin/sh\ntouch ran\n"), 0o600); err != nil {
			return err
		}
		return os.Chmod(at(name), mode)
	}
	add("link", "symbolic link", os.Symlink(outside, at("link")))
	add("dangling", "symbolic link", os.Symlink("nowhere", at("dangling")))
	add("loop", "symbolic link", os.Symlink("loop", at("loop")))
	add("fifo", "not a regular file", syscall.Mkfifo(at("fifo"), 0o755)) // opening it would wait for ever
	l, err := net.Listen("unix", shorter(t, at("socket")))
	if err == nil {
		defer func() { _ = l.Close() }()
	}
	add("socket", "not a regular file", err)
	if err := syscall.Mknod(at("device"), syscall.S_IFCHR|0o755, 1<<8|3); err == nil { // who is not root cannot make one
		add("device", "not a regular file", nil)
	}
	add("folder", "directory", os.Mkdir(at("folder"), 0o755))
	add("Snoop.bak", "leftover", file("Snoop.bak", 0o755))
	add("other~", "leftover", file("other~", 0o755))
	add(".hidden", "hidden", file(".hidden", 0o755))
	add("toolhost-plugin-SNOOP", "taken by", file("toolhost-plugin-SNOOP", 0o755))
	add("plain", "not executable", file("plain", 0o644))
	add("anyones", "others may write", file("anyones", 0o777))
	add("con\x1b[2Jtrol", "not a plugin name", file("con\x1b[2Jtrol", 0o755))

	h := newHost(t)
	if n, err := h.Load(t.Context(), dir); err != nil || n != 1 {
		t.Errorf("Load: %d tools, %v", n, err)
	}
	for _, s := range h.Status().Skipped {
		name := filepath.Base(s.Path)
		if reason := want[name]; reason == "" || !strings.Contains(s.Reason, reason) {
			t.Errorf("%s is skipped as %q, want %q", name, s.Reason, reason)
		}
		delete(want, name)
	}
	for name := range want {
		t.Errorf("%s is not skipped", name)
	}
	if _, err := os.Stat(filepath.Join(h.Root(), "ran")); err == nil {
		t.Error("one of them was run")
	}
	if _, err := h.Execute(t.Context(), tool.Call{Name: "snoop.look"}); err != nil {
		t.Error(err)
	}
}

// shorter is a path that a socket's address can hold.
func shorter(t *testing.T, path string) string {
	t.Helper()
	link := filepath.Join("/tmp", fmt.Sprintf("th-%d-%s", os.Getpid(), filepath.Base(filepath.Dir(path))))
	require.NoError(t, os.Symlink(filepath.Dir(path), link))
	t.Cleanup(func() { _ = os.Remove(link) })
	return filepath.Join(link, filepath.Base(path))
}

// A directory with very many files is looked through in time, and most of it is
// not the plugin's business.
func TestHostileManyFiles(t *testing.T) {
	t.Parallel()
	dir := plugintest.Dir(t, plugintest.Snoop)
	files := 10_000
	if testing.Short() {
		files = 2000 // making and removing them takes longer than what is tested
	}
	for i := range files {
		require.NoError(t, os.WriteFile(filepath.Join(dir, fmt.Sprint("file", i)), nil, 0o600))
	}
	h := newHost(t)
	begin := time.Now()
	for range 2 {
		if n, err := h.Load(t.Context(), dir); err != nil || n != 1 {
			t.Fatalf("Load: %d tools, %v", n, err)
		}
	}
	if took := time.Since(begin); took > ceiling/2 {
		t.Errorf("it took %v", took)
	}
	if n := len(h.Status().Skipped); n != files {
		t.Errorf("%d skipped, want %d", n, files)
	}
}

// No other user may be able to put a plugin there: the operator is told which
// directory, and what to do.
func TestHostileDirectoryOfOthers(t *testing.T) {
	t.Parallel()
	top := t.TempDir()
	below := filepath.Join(top, "plugins")
	require.NoError(t, os.Mkdir(below, 0o755))
	plugintest.Install(t, below, string(plugintest.Snoop))
	for _, mode := range []os.FileMode{0o777, 0o757} {
		if err := os.Chmod(top, mode); err != nil { //nolint:gosec // that is what is refused
			t.Fatal(err)
		}
		for _, dir := range []string{top, below} {
			h := newHost(t)
			n, err := h.Load(t.Context(), dir)
			faults := faultsOf(err)
			if n != 0 || len(faults) != 1 || faults[0].Code != tool.CodePermissionDenied || !strings.Contains(faults[0].Message, "others may write to "+top) {
				t.Errorf("mode %o: %d tools, %v", mode, n, err)
			}
		}
	}
	if err := os.Chmod(top, 0o777|os.ModeSticky); err != nil { //nolint:gosec // as /tmp is
		t.Fatal(err)
	}
	if n, err := newHost(t).Load(t.Context(), below); n != 1 || err != nil {
		t.Errorf("below a sticky one: %d tools, %v", n, err)
	}
	if os.Geteuid() != 0 { // only root can give a directory away
		return
	}
	require.NoError(t, os.Chown(below, 65534, -1))
	if n, err := newHost(t).Load(t.Context(), below); n != 0 || tool.CodeOf(err) != tool.CodePermissionDenied || !strings.Contains(err.Error(), "belongs to another user") {
		t.Errorf("another user's, below a sticky one: %d tools, %v", n, err)
	}
}

// Half a copy of a real plugin is refused, whatever the system makes of it.
func TestHostileHalfCopy(t *testing.T) {
	t.Parallel()
	dir := plugintest.Dir(t)
	whole, err := os.ReadFile(plugintest.Install(t, t.TempDir(), string(plugintest.Snoop)))
	require.NoError(t, err)
	for name, part := range map[string]int{"head": 100, "quarter": len(whole) / 4, "half": len(whole) / 2} {
		if err := os.WriteFile(filepath.Join(dir, name), whole[:part], 0o755); err != nil { //nolint:gosec // a program
			t.Fatal(err)
		}
	}
	h := newHost(t)
	_, err = h.Load(t.Context(), dir)
	if faults := faultsOf(err); len(faults) != 3 {
		t.Errorf("Load: %v", err)
	}
	for _, s := range h.Plugins() {
		if s.State != plugin.Refused || s.Reason == "" {
			t.Errorf("status %+v", s)
		}
	}
}
