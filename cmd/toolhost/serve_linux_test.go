package main

import (
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"testing"

	"github.com/toolhost/toolhost/internal/test/require"
)

// open counts the daemon's open files.
func (s *serving) open() int {
	s.w.t.Helper()
	all, err := os.ReadDir("/proc/" + strconv.Itoa(s.cmd.Process.Pid) + "/fd")
	if err != nil {
		s.w.t.Fatal(err)
	}
	return len(all)
}

// Whatever clients did, when they are gone the daemon has nothing of theirs.
func TestDaemonKeepsNothingOfClients(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "player")
	s := w.serve()
	w.run("call", "play.echo").exits(0) // the plugin runs
	before := s.open()
	for i := range 100 {
		conn := require.Must(net.Dial("unix", w.socket()))(t)
		switch i % 4 {
		case 0:
			_, _ = io.WriteString(conn, "\x00\xff nonsense\r\n\r\n")
		case 1:
			_, _ = io.WriteString(conn, "POST /toolhost.daemon.v1.Daemon/Call HTTP/1.1\r\nHost: x\r\nContent-Type: application/connect+json\r\nContent-Length: 1000000\r\n\r\n\x00")
		case 2:
			_, _ = io.WriteString(conn, callRequest(`{"name":"play.echo"}`))
		}
		_ = conn.Close()
	}
	for s.open() > before { // it hears of each in its own time; the test's own bound ends this
		w.client()
	}
	w.run("--log-level", "info", "call", "play.echo").exits(0).says("using the daemon")
}

// callRequest returns a request for a call, as other programs than the command send it.
func callRequest(body string) string {
	return fmt.Sprintf("POST /toolhost.daemon.v1.Daemon/Call HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"+
		"Content-Type: application/connect+json\r\nContent-Length: %d\r\n\r\n%s%s",
		len(body)+5, binary.BigEndian.AppendUint32([]byte{0}, uint32(len(body))), body)
}
