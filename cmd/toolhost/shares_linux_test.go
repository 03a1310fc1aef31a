package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/control"
	"github.com/toolhost/toolhost/host/audit"
	"github.com/toolhost/toolhost/internal/test/require"
)

// connectAs connects to a socket as another user.
func connectAs(t *testing.T, uid int, path string) net.Conn {
	t.Helper()
	var conn net.Conn
	var err error
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // never unlocked: the thread, which is the user's, ends
		if _, _, e := syscall.RawSyscall(syscall.SYS_SETRESUID, uintptr(uid), uintptr(uid), uintptr(uid)); e != 0 {
			err = e
			return
		}
		conn, err = net.Dial("unix", path)
	}()
	<-done
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// A user who makes more calls of a slow plugin than there is room for keeps neither other users nor other
// plugins waiting. What is refused is on record, and told.
func TestOneUserShutsOutNone(t *testing.T) {
	t.Parallel()
	const uid, most, more = 65533, control.MaxCalls / 2, 40
	work := newWork(t)
	w := newOther(t, "plugins: {player: {limits: {running: 1}}}\ncallers:\n  cli:\n    grants: [fs:read]\n  visitor:\n    uid: 65533\n",
		"player", "buffer")
	w.write("a.txt", "text\n")
	w.begin("--config", w.path("toolhost.yaml")).await("toolhost: ready: ")
	refusals := make(chan string, most+more)
	for range most + more {
		conn := connectAs(t, uid, w.path("run.sock"))
		_, err := fmt.Fprintf(conn, "POST /v1/call?name=play.run HTTP/1.0\r\nContent-Length: %d\r\n\r\n%s", len(work.call()), work.call())
		require.NoError(t, err)
		go func() {
			if text, err := io.ReadAll(conn); err == nil && strings.Contains(string(text), `"resource_exhausted"`) {
				refusals <- string(text)
			}
		}()
	}
	for range more {
		if text := <-refusals; !strings.Contains(text, fmt.Sprintf("this caller has its share of the calls that the host takes at a time: %d of this caller and 0 of others", most)) {
			t.Fatalf("a refused call is told %s", text)
		}
	}
	w.as(0, "call", "read_file", "--arg", "path=a.txt").exits(0).prints("text")
	w.as(0, "status").exits(1).prints(fmt.Sprint("calls:         ", most), fmt.Sprintf("problem: the caller visitor is refused: %d times", more))
	sum, lines := 0, 0
	w.until("all refusals are on record", func() bool {
		sum, lines = 0, 0
		for line := range strings.Lines(w.as(0, "audit", "search", "--caller", "visitor", "--code", "resource_exhausted", "--json").exits(0).stdout) {
			var e audit.Entry
			require.NoError(t, json.Unmarshal([]byte(line), &e))
			sum, lines = sum+e.Refusals, lines+1
		}
		return sum == more
	})
	if lines < 2 || lines > more/2 {
		t.Errorf("%d refusals have %d lines", more, lines)
	}
	if text := body(t, clientOf(w.path("run.sock")), "http://toolhost/metrics"); !strings.Contains(text, fmt.Sprintf("toolhost_calls_in_progress %d\n", most)) {
		t.Errorf("the metrics are\n%s", text)
	}
	work.mayEnd()
}
