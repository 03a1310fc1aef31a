package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/toolhost/toolhost/internal/test/require"
)

// Where the system gives no notices of changes, the daemon says so at once, wherever an
// operator looks, and finds changes by looking.
func TestNoNotices(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "player")
	file := filepath.Join(t.TempDir(), "named.yaml")
	require.NoError(t, os.WriteFile(file, []byte("# nothing\n"), 0o600))
	// In a user namespace of its own, the daemon has limits of its own.
	limits := "/proc/sys/user/max_inotify_instances"
	isolate := &syscall.SysProcAttr{
		Setsid: true, Cloneflags: syscall.CLONE_NEWUSER,
		UidMappings: []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}},
	}
	probe := w.command()
	probe.Path, probe.Args, probe.SysProcAttr = "/bin/sh", []string{"sh", "-c", "echo 0 >" + limits}, isolate
	if out, err := probe.CombinedOutput(); err != nil {
		t.Skipf("no user namespaces with limits of their own: %v: %s", err, out)
	}
	cmd := w.command("serve", "--plugin-dir", w.plugins, "--config", file)
	cmd.Args = append([]string{"sh", "-c", "echo 0 >" + limits + ` && exec "$0" "$@"`, cmd.Path}, cmd.Args[1:]...)
	cmd.Path, cmd.SysProcAttr = "/bin/sh", isolate
	s := &serving{w: w, cmd: cmd, lines: make(chan string, 10000)}
	s.start()
	s.await("toolhost: ready: ")
	const late = "changes in the plugin directories are noticed late"
	if !strings.Contains(strings.Join(s.said, "\n"), late) { // at once: before or after
		s.await(late)
	}
	w.run("plugins", "--config", file).exits(0).says("noticed late", "fs.inotify.max_user_instances")
	w.install("fs", "fs")
	w.until("the new plugin serves", func() bool {
		return strings.Contains(w.run("tools", "--config", file).exits(0).stdout, "fs.read")
	})
	require.NoError(t, os.WriteFile(file, []byte("tools: {play.echo: {rename: play.back}}\n"), 0o600))
	s.await("toolhost: reloaded: tool play.echo")
}
