package egress

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/internal/test/require"
)

// origin answers the one request of each connection with its bytes as they arrived, and closes.
func origin(t *testing.T, w *world, answer string) (received chan string) {
	t.Helper()
	received = make(chan string, 10)
	w.at("api.example.com", "93.184.216.34:80", server(t, func(conn *net.TCPConn) {
		var got strings.Builder
		r := bufio.NewReader(io.TeeReader(conn, &got))
		request, err := http.ReadRequest(r)
		if err != nil {
			received <- err.Error()
			return
		}
		_, _ = io.Copy(io.Discard, request.Body)
		_, _ = io.WriteString(conn, answer)
		_ = conn.CloseWrite()
		_, _ = io.Copy(io.Discard, r)
		received <- got.String()
	}))
	return received
}

const ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\nKeep-Alive: timeout=5\r\nProxy-Authenticate: Basic\r\nX-Other: b\r\n\r\nok"

// The server is sent what the request line says, and nothing that concerns the proxy.
func TestForwardedRequest(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "api.example.com:80")
	received := origin(t, w, ok)
	answer := w.raw("POST http://API.example.com.:80/a%2fb?x=1;2&y HTTP/1.1\r\nHost: other.example.org\r\nConnection: X-Mine, close\r\nX-Mine: a\r\n" +
		"Proxy-Authorization: Basic eA==\r\nProxy-Connection: keep-alive\r\nKeep-Alive: 5\r\nTE: gzip\r\nAuthorization: Bearer own\r\nAccept: */*\r\nContent-Length: 4\r\n\r\nbody")
	got := <-received
	if want := "POST /a%2fb?x=1;2&y HTTP/1.1\r\nHost: api.example.com\r\n"; !strings.HasPrefix(got, want) || !strings.HasSuffix(got, "\r\n\r\nbody") {
		t.Errorf("the server got %q", got)
	}
	for _, part := range []string{"Authorization: Bearer own\r\n", "Accept: */*\r\n", "Content-Length: 4\r\n"} {
		if !strings.Contains(got, part) {
			t.Errorf("%q does not have %q", got, part)
		}
	}
	for _, part := range []string{"other.example.org", "Proxy-", "X-Mine", "Keep-Alive", "Te:", "User-Agent", "Forwarded", "Accept-Encoding"} {
		if strings.Contains(got, part) {
			t.Errorf("%q has %q", got, part)
		}
	}
	if !strings.HasPrefix(answer, "HTTP/1.1 200 OK\r\n") || !strings.HasSuffix(answer, "\r\n\r\nok") || !strings.Contains(answer, "X-Other: b\r\n") {
		t.Errorf("the answer is %q", answer)
	}
	for _, part := range []string{"Keep-Alive", "Proxy-Authenticate"} {
		if strings.Contains(answer, part) {
			t.Errorf("%q has %q", answer, part)
		}
	}
}

// Two servers cannot read one request as two: it is written again with one length, and what
// follows it is not sent on.
func TestSmuggling(t *testing.T) {
	t.Parallel()
	const second = "GET http://api.example.com/second HTTP/1.1\r\nHost: internal\r\n\r\n"
	for name, request := range map[string]string{
		"pipelined":              "GET http://api.example.com/ HTTP/1.1\r\nHost: x\r\n\r\n" + second,
		"length and encoding":    "POST http://api.example.com/ HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + second,
		"encoding and length":    "POST http://api.example.com/ HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nContent-Length: 500\r\n\r\n1\r\na\r\n0\r\n\r\n" + second,
		"two encodings":          "POST http://api.example.com/ HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n" + second,
		"an encoding with a tab": "POST http://api.example.com/ HTTP/1.1\r\nHost: x\r\nTransfer-Encoding:\tchunked\r\nContent-Length: 4\r\n\r\n0\r\n\r\n" + second,
		"a hidden encoding":      "POST http://api.example.com/ HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: xchunked\r\nContent-Length: 4\r\n\r\n0\r\n\r\n" + second,
		"two lengths":            "POST http://api.example.com/ HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\nContent-Length: 100\r\n\r\n" + second,
		"a body of GET":          fmt.Sprintf("GET http://api.example.com/ HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s", len(second), second),
		"the length is dropped":  fmt.Sprintf("POST http://api.example.com/ HTTP/1.1\r\nHost: x\r\nConnection: Content-Length\r\nContent-Length: %d\r\n\r\n%s", len(second), second),
		"a line in the header":   "GET http://api.example.com/ HTTP/1.1\r\nHost: x\r\nX: a\rTransfer-Encoding: chunked\r\n\r\n" + second,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, "api.example.com:80")
			received := origin(t, w, ok)
			conn := w.connect()
			require.Must(io.WriteString(conn, request))(t)
			answer, _ := io.ReadAll(conn)
			if n := strings.Count(string(answer), "HTTP/1.1 "); n != 1 {
				t.Errorf("%d answers: %q", n, answer)
			}
			if strings.HasPrefix(string(answer), "HTTP/1.1 4") || strings.HasPrefix(string(answer), "HTTP/1.1 5") {
				return
			}
			got := <-received
			again, err := http.ReadRequest(bufio.NewReader(strings.NewReader(got)))
			if err != nil {
				t.Fatalf("the server got %q: %v", got, err)
			}
			body, _ := io.ReadAll(again.Body)
			if end := strings.Index(got, "\r\n\r\n") + 4; again.Host != "api.example.com" || again.Header.Get("Content-Length") != "" && len(again.TransferEncoding) > 0 ||
				strings.Contains(got[end:], "second") && len(body) != len(second) {
				t.Errorf("the server got %q", got)
			}
		})
	}
}

// An answer is passed on as it comes, and a request's body as the server wants it.
func TestForwardStreams(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "api.example.com:80")
	step := make(chan bool)
	w.at("api.example.com", "93.184.216.34:80", server(t, func(conn *net.TCPConn) {
		r := bufio.NewReader(conn)
		request, err := http.ReadRequest(r)
		if err != nil || request.Header.Get("Expect") != "100-continue" {
			return
		}
		_, _ = io.WriteString(conn, "HTTP/1.1 100 Continue\r\n\r\n")
		_, _ = io.ReadFull(request.Body, make([]byte, 4))
		_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n3\r\none\r\n")
		select {
		case <-step:
		case <-t.Context().Done():
		}
		_, _ = io.WriteString(conn, "3\r\ntwo\r\n0\r\nX-Sum: 6\r\n\r\n")
	}))
	conn := w.connect()
	if _, err := io.WriteString(conn, "POST http://api.example.com/ HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	r := bufio.NewReader(conn)
	resp, err := http.ReadResponse(r, nil)
	if err != nil || resp.StatusCode != http.StatusContinue {
		t.Fatalf("%v, %v", resp, err)
	}
	require.Must(io.WriteString(conn, "body"))(t)
	for resp.StatusCode == http.StatusContinue { // both may say it: the server, and the proxy
		_ = resp.Body.Close()
		if resp, err = http.ReadResponse(r, nil); err != nil {
			t.Fatal(err)
		}
	}
	defer func() { _ = resp.Body.Close() }()
	one := make([]byte, 3)
	if _, err := io.ReadFull(resp.Body, one); err != nil || string(one) != "one" {
		t.Fatalf("%q, %v", one, err)
	}
	close(step)
	if two, err := io.ReadAll(resp.Body); err != nil || string(two) != "two" || resp.Trailer.Get("X-Sum") != "6" {
		t.Errorf("%q, %v, %v", two, err, resp.Trailer)
	}
}

// A WebSocket over plain HTTP becomes a tunnel.
func TestForwardUpgrade(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "api.example.com:80")
	w.at("api.example.com", "93.184.216.34:80", server(t, func(conn *net.TCPConn) {
		r := bufio.NewReader(conn)
		if request, err := http.ReadRequest(r); err != nil || request.Header.Get("Upgrade") != "websocket" {
			return
		}
		_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
		_, _ = io.Copy(conn, r)
	}))
	conn := w.connect()
	if _, err := io.WriteString(conn, "GET http://api.example.com/ HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	r := bufio.NewReader(conn)
	resp, err := http.ReadResponse(r, nil)
	if err != nil || resp.StatusCode != http.StatusSwitchingProtocols {
		t.Fatalf("%v, %v", resp, err)
	}
	_ = resp.Body.Close()
	for range 3 {
		require.Must(io.WriteString(conn, "ping"))(t)
		pong := make([]byte, 4)
		if _, err := io.ReadFull(r, pong); err != nil || string(pong) != "ping" {
			t.Fatalf("%q, %v", pong, err)
		}
	}
}

// Nonsense from a server is an answer with an error, and reaches no client.
func TestForwardNonsense(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]string{
		"none":           "",
		"another":        "SSH-2.0-server\r\n",
		"header flood":   "HTTP/1.1 200 OK\r\n" + strings.Repeat("X: "+strings.Repeat("x", 1000)+"\r\n", 300) + "\r\n",
		"interim flood":  strings.Repeat("HTTP/1.1 103 Early Hints\r\nX: "+strings.Repeat("x", 1000)+"\r\n\r\n", 300),
		"two lengths":    "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nok",
		"an odd upgrade": "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, "api.example.com:80")
			origin(t, w, answer)
			got := w.raw("GET http://api.example.com/ HTTP/1.1\r\nHost: x\r\n\r\n")
			if !strings.Contains(got, "HTTP/1.1 502 Bad Gateway\r\n") || !strings.HasSuffix(got, "api.example.com:80 did not answer as an HTTP server does\n") {
				t.Errorf("the answer is %.300q", got)
			}
		})
	}
}

// A client that knows no proxy reaches the machine's loopback interface, if the list has it.
func TestForwardsLoopback(t *testing.T) {
	t.Parallel()
	for pattern, reached := range map[string]bool{"localhost:5432": true, "127.0.0.1:5432": true, "localhost:80": false, "[::1]:5432": false} {
		w := newWorld(t, pattern)
		w.at("", "127.0.0.1:5432", server(t, echo))
		l := require.Must(net.Listen("tcp", "127.0.0.1:0"))(t)
		go func() { _ = w.proxy.Forward(l, 5432) }() // it ends with the proxy
		conn := require.Must(net.Dial("tcp", l.Addr().String()))(t)
		_, _ = io.WriteString(conn, "hello")
		_ = conn.(*net.TCPConn).CloseWrite()
		if got, _ := io.ReadAll(conn); (string(got) == "hello") != reached {
			t.Errorf("%s: %q came back", pattern, got)
		}
		_ = conn.Close()
	}
}
