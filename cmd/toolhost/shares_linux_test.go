package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/control"
	"github.com/toolhost/toolhost/host/audit"
	"github.com/toolhost/toolhost/internal/test/assert"
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
		_, err := io.WriteString(conn, callRequest(fmt.Sprintf(`{"name":"play.run","arguments":%q}`, work.call())))
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
		for line := range strings.Lines(w.as(0, "audit", "--caller", "visitor", "--code", "resource_exhausted", "--json").exits(0).stdout) {
			var e audit.Entry
			require.NoError(t, json.Unmarshal([]byte(line), &e))
			sum, lines = sum+e.Refusals, lines+1
		}
		return sum == more
	})
	if lines < 2 || lines > more/2 {
		t.Errorf("%d refusals have %d lines", more, lines)
	}
	for _, want := range []string{
		fmt.Sprintf("toolhost_calls_in_progress %d\n", most), `toolhost_caller_calls{caller="visitor",state="running"} 1`,
		fmt.Sprintf(`toolhost_caller_calls{caller="visitor",state="waiting"} %d`, most-1),
	} {
		w.until("the metrics have "+want, func() bool {
			return strings.Contains(body(t, clientOf(w.path("run.sock")), "http://toolhost/metrics"), want)
		})
	}
	work.mayEnd()
}

// A caller over HTTP with too many requests is on record and told as well; requests of no caller are counted.
func TestRefusedRequestsAreOnRecord(t *testing.T) {
	t.Parallel()
	const more = 20
	work := newWork(t)
	w := newWorld(t, "player")
	w.configure("mcp: {limits: {requests: 2}}")
	f := w.serveMCP("--config", w.config())
	token := w.token("ci")
	by := header{"Authorization": "Bearer " + token, "Mcp-Name": "play_run"}
	ended := make(chan taskAnswer, 2)
	for range cap(ended) {
		go func() {
			ended <- f.tasked(token, "", "tools/call", "play_run", `"name":"play_run","arguments":`+work.call())
		}()
	}
	w.until("both run", func() bool { return work.runs() == 2 })
	for range more {
		if a, text := f.ask("POST", "/mcp", hello, by); a.StatusCode != http.StatusTooManyRequests {
			t.Fatalf("a request too many is answered with %s %s", a.Status, text)
		}
		if a, _ := f.ask("POST", "/mcp", hello, header{"Authorization": "Bearer wrong"}); a.StatusCode != http.StatusUnauthorized {
			t.Fatalf("a wrong token is answered with %s", a.Status)
		}
	}
	w.run("status").exits(1).prints("calls:         2", "problem: the caller ci is refused:")
	w.until("all refusals are on record", func() bool {
		sum := 0
		for line := range strings.Lines(w.run("audit", "--caller", "ci", "--via", "mcp", "--tool", "play_run", "--json").exits(0).stdout) {
			var e audit.Entry
			require.NoError(t, json.Unmarshal([]byte(line), &e))
			sum += e.Refusals
		}
		return sum == more
	})
	text := w.over("/metrics")
	for _, want := range []string{
		"toolhost_calls_in_progress 2\n", fmt.Sprintf("toolhost_http_refusals_total{reason=\"too_many_requests\"} %d\n", more),
		fmt.Sprintf("toolhost_http_refusals_total{reason=\"invalid_token\"} %d\n", more),
	} {
		assert.Containsf(t, text, want, "the metrics have no %q", want)
	}
	work.mayEnd()
	for range cap(ended) {
		if a := <-ended; a.Error.Code != 0 {
			t.Errorf("a call ends with %s", a.text)
		}
	}
	f.ends(syscall.SIGTERM, 0)
	if n := strings.Count(strings.Join(f.said, "\n"), "requests without a caller were turned away"); n != 1 {
		t.Errorf("the log has %d lines of requests without a caller", n)
	}
}

// A caller that does not read its results holds half of what there is for those of all, and no other back.
func TestUnreadResultsAreBounded(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "player")
	f := w.serveMCP()
	ask := func(token string) (head string, hangUp func() error) {
		t.Helper()
		conn := require.Must(net.Dial("tcp", strings.TrimPrefix(f.url, "http://")))(t)
		t.Cleanup(func() { _ = conn.Close() })
		text := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"play_large","arguments":{"text":"x","times":` + fmt.Sprint(15<<20) +
			`,"as":"result"},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`
		_, err := fmt.Fprintf(conn, "POST /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\n"+
			"Accept: application/json, text/event-stream\r\nMcp-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: play_large\r\n"+
			"Content-Length: %d\r\n\r\n%s", token, len(text), text)
		require.NoError(t, err)
		b := make([]byte, 2000)
		n := 0
		for n < len(b) && !strings.Contains(string(b[:n]), "is lost") {
			m, err := conn.Read(b[n:])
			require.NoError(t, err)
			n += m
		}
		return string(b[:n]), conn.Close
	}
	ann, ben := w.token("ann"), w.token("ben")
	var hold []func() error
	for range 8 { // 120 of 256 MiB
		head, hangUp := ask(ann)
		if !strings.Contains(head, "xxx") {
			t.Fatalf("a result begins with %s", head)
		}
		hold = append(hold, hangUp)
	}
	if head, _ := ask(ann); !strings.Contains(head, "the tool ran, and the answer is lost: there is no room") || !strings.Contains(head, "resource_exhausted") {
		t.Errorf("a result too many is %s", head)
	}
	if head, _ := ask(ben); !strings.Contains(head, "xxx") {
		t.Errorf("another caller is answered with %s", head)
	}
	for _, hangUp := range hold {
		_ = hangUp()
	}
	w.until("there is room again", func() bool {
		head, hangUp := ask(ann)
		_ = hangUp()
		return strings.Contains(head, "xxx")
	})
}
