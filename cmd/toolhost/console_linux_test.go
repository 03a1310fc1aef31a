package main

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/toolhost/toolhost/internal/test/require"
)

// A link that was passed to a browser, where others see it, lets no other user in, and is gone when one has tried.
func TestConsoleOfAnotherUser(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root can become another user")
	}
	w := newWorld(t, "player")
	w.serve()
	bin := t.TempDir()
	opener := "#!/bin/sh\necho \"$1\" >" + filepath.Join(bin, "url") + ".new\nmv " + filepath.Join(bin, "url") + ".new " + filepath.Join(bin, "url") + "\n"
	require.NoError(t, os.WriteFile(filepath.Join(bin, "xdg-open"), []byte(opener), 0o755)) //nolint:gosec // a program
	w.env = append(w.env, "DISPLAY=:0", "PATH="+bin+":"+os.Getenv("PATH"))
	for _, c := range []struct{ uid, want int }{{61234, http.StatusForbidden}, {0, http.StatusOK}} {
		printed := strings.TrimSpace(w.bare("console").exits(0).stdout)
		for {
			if text, _ := os.ReadFile(filepath.Join(bin, "url")); strings.TrimSpace(string(text)) == printed {
				break
			}
			runtime.Gosched()
		}
		origin, word, _ := strings.Cut(printed, "/#")
		b := &browser{t: t, origin: origin, dial: func(network, address string) (net.Conn, error) {
			runtime.LockOSThread() // which ends with this goroutine, as it is never unlocked
			if _, _, bad := syscall.RawSyscall(syscall.SYS_SETFSUID, uintptr(c.uid), 0, 0); bad != 0 {
				return nil, bad
			}
			return net.Dial(network, address) //nolint:noctx // at once
		}}
		if res, text := b.open(word); res.StatusCode != c.want || c.want != http.StatusOK && !strings.Contains(text, fmt.Sprintf("a process of user %d has used", c.uid)) {
			t.Errorf("user %d: %s %s", c.uid, res.Status, text)
		}
		b.dial = nil
		if res, text := b.open(word); res.StatusCode != http.StatusForbidden {
			t.Errorf("after user %d: %s %s", c.uid, res.Status, text)
		}
	}
	w.run("audit", "--kind", "admin", "--json").exits(0).prints("a process of user 61234 has used a link")
}
