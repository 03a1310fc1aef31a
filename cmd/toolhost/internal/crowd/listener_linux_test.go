package crowd

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/toolhost/toolhost/internal/test/require"
)

// The connections of an address with many make room for each other, and not those of an address with few,
// or those with a request.
func TestAnAddressKeepsNoOtherOut(t *testing.T) {
	t.Parallel()
	l := New(require.Must(net.Listen("tcp", "127.0.0.1:0"))(t), 16)
	begun, release := make(chan bool), make(chan bool)
	server := &http.Server{ReadHeaderTimeout: time.Hour, ConnContext: Context, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer Use(r.Context())()
		if r.URL.Path == "/slow" {
			begun <- true
			<-release
		}
		_, _ = io.WriteString(w, "answer")
	})}
	go func() { _ = server.Serve(l) }()
	t.Cleanup(func() { _ = server.Close() })
	dial := func(from string) net.Conn {
		t.Helper()
		d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
		conn := require.Must(d.DialContext(t.Context(), "tcp", l.Addr().String()))(t)
		t.Cleanup(func() { _ = conn.Close() })
		return conn
	}
	ask := func(conn net.Conn, path string) {
		t.Helper()
		_, err := io.WriteString(conn, "GET "+path+" HTTP/1.0\r\n\r\n")
		require.NoError(t, err)
	}
	answered := func(what string, conn net.Conn) {
		t.Helper()
		if line, err := bufio.NewReader(conn).ReadString('\n'); !strings.Contains(line, " 200 ") {
			t.Errorf("%s is answered with %q, %v", what, line, err)
		}
	}
	slow := dial("127.0.0.1")
	ask(slow, "/slow")
	<-begun
	silent := []net.Conn{dial("127.0.0.2"), dial("127.0.0.2")}
	for range 100 {
		dial("127.0.0.1")
	}
	for _, conn := range silent {
		ask(conn, "/")
		answered("one of the few, which was silent for longest", conn)
	}
	late := dial("127.0.0.1")
	ask(late, "/")
	answered("the last of the many", late)
	close(release)
	answered("the one in use", slow)
}
