package egress

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"io"
	"net"
	"net/netip"
	"os"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/require"
)

// What is sent arrives, and the end of each direction by itself.
func TestHalfClose(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(w *world) net.Conn{
		"CONNECT": func(w *world) net.Conn { return w.tunnel("api.example.com:443") },
		"SOCKS": func(w *world) net.Conn {
			_, conn := w.socks(socksName, named("api.example.com"), 443)
			return conn
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, "api.example.com:443")
			w.at("api.example.com", "93.184.216.34:443", server(t, echo))
			sent := make([]byte, 1<<20)
			_, _ = rand.Read(sent)
			conn := open(w)
			require.Must(conn.Write(sent))(t)
			require.NoError(t, conn.(*net.TCPConn).CloseWrite())
			if got, err := io.ReadAll(conn); err != nil || !bytes.Equal(got, sent) {
				t.Errorf("%d bytes came back, and %v", len(got), err)
			}
		})
	}
}

// A server that has sent everything can still be sent to.
func TestHalfCloseByServer(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "api.example.com:443")
	got := make(chan string, 1)
	w.at("api.example.com", "93.184.216.34:443", server(t, func(conn *net.TCPConn) {
		_, _ = io.WriteString(conn, "hello")
		_ = conn.CloseWrite()
		all, _ := io.ReadAll(conn)
		got <- string(all)
	}))
	conn := w.tunnel("api.example.com:443")
	if hello, err := io.ReadAll(conn); err != nil || string(hello) != "hello" {
		t.Fatalf("%q, %v", hello, err)
	}
	require.Must(io.WriteString(conn, "late"))(t)
	_ = conn.CloseWrite()
	assert.Equalf(t, <-got, "late", "the server got")
}

// What a client sends along with its request is the server's.
func TestEarlyBytes(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "api.example.com:443")
	w.at("api.example.com", "93.184.216.34:443", server(t, echo))
	for request, answer := range map[string]string{
		"CONNECT api.example.com:443 HTTP/1.1\r\nHost: internal.example.com:22\r\n\r\nearly":                   "HTTP/1.1 200 Connection established\r\n\r\nearly",
		"CONNECT api.example.com:443 HTTP/1.1\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\nearly": "HTTP/1.1 200 Connection established\r\n\r\nearly",
		"\x05\x01\x00\x05\x01\x00\x03\x0fapi.example.com\x01\xbbearly":                                         "\x05\x00\x05\x00\x00\x01\x00\x00\x00\x00\x00\x00early",
	} {
		conn := w.connect()
		_, _ = io.WriteString(conn, request)
		_ = conn.CloseWrite()
		if got, err := io.ReadAll(conn); err != nil || string(got) != answer {
			t.Errorf("%q: %q, %v", request, got, err)
		}
	}
}

// A connection that is reset on one side ends on the other.
func TestReset(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "api.example.com:443")
	ended := make(chan bool)
	w.at("api.example.com", "93.184.216.34:443", server(t, func(conn *net.TCPConn) {
		_, _ = io.Copy(io.Discard, conn)
		close(ended)
	}))
	conn := w.tunnel("api.example.com:443")
	_ = conn.SetLinger(0)
	_ = conn.Close()
	<-ended
	w.at("api.example.com", "93.184.216.34:443", server(t, func(conn *net.TCPConn) {
		_, _ = io.ReadFull(conn, make([]byte, 1))
		_ = conn.SetLinger(0)
	}))
	conn = w.tunnel("api.example.com:443")
	_, _ = conn.Write([]byte{1})
	if _, err := conn.Read(make([]byte, 1)); err == nil {
		t.Error("the client can still read")
	}
}

// At most 256 connections are open; the next is closed, and there is room for another once
// one has ended.
func TestConnections(t *testing.T) {
	t.Parallel()
	inTime(t, func(in *bubble) {
		in.upstream()
		var open []net.Conn
		for range connections {
			open = append(open, in.connect(""))
		}
		synctest.Wait()
		if n := in.proxy.Stats().Open; n != connections {
			in.Fatalf("%d connections are open, not %d", n, connections)
		}
		if _, err := in.connect("").Read(make([]byte, 1)); err == nil {
			in.Error("one connection more is served")
		}
		if n := in.proxy.Stats().Count(Refused); n != 1 {
			in.Errorf("%d connections are counted as refused, not 1", n)
		}
		_ = open[7].Close()
		synctest.Wait()
		established(in.T, in.connect(connectRequest))
		if n := in.proxy.Stats().Open; n != connections {
			in.Errorf("%d connections are open, not %d", n, connections)
		}
	})
}

// Close ends everything, in whatever state, and waits for it.
func TestClose(t *testing.T) {
	t.Parallel()
	inTime(t, func(in *bubble) {
		const tunnels = 3
		servers := make(chan net.Conn, tunnels) // they read nothing, and their own ends stay open
		in.dial = func(context.Context, netip.AddrPort) (net.Conn, error) {
			near, far := pipe()
			servers <- far
			return near, nil
		}
		socks := in.connect("\x05\x01\x00")
		_, _ = io.ReadFull(socks, make([]byte, 2))
		_, _ = io.WriteString(socks, "\x05\x01\x00\x03\x0fapi.")
		whole, half := in.connect(connectRequest), in.connect(connectRequest)
		established(in.T, whole)
		established(in.T, half)
		_ = half.(*duplex).CloseWrite()
		conns := []net.Conn{
			in.connect(""), in.connect("CONNECT api.exa"), socks, in.connect("GET http://api.example.com/ HTTP/1.1\r\nHost: x\r\n\r\n"),
			whole, half,
		}
		synctest.Wait()
		if n := in.proxy.Stats().Open; n != len(conns) || len(servers) != tunnels {
			in.Fatalf("%d connections are open, and %d to servers", n, len(servers))
		}
		began := time.Now()
		var closing sync.WaitGroup
		for range 2 {
			closing.Go(in.proxy.Close)
		}
		closing.Wait()
		if n := in.proxy.Stats().Open; n != 0 || time.Since(began) != 0 {
			in.Errorf("%d connections are open after %v", n, time.Since(began))
		}
		for range tunnels {
			conns = append(conns, <-servers)
		}
		for i, conn := range conns {
			_ = conn.SetReadDeadline(time.Now().Add(time.Second))
			if _, err := io.ReadAll(conn); errors.Is(err, os.ErrDeadlineExceeded) {
				in.Errorf("connection %d is open", i)
			}
		}
		if _, err := in.listener.Accept(); err == nil {
			in.Error("there still is a listener")
		}
	})
}

// A proxy that was closed serves no more, and closes the listener that it is given.
func TestServeAfterClose(t *testing.T) {
	t.Parallel()
	l := require.Must(net.Listen("tcp", "127.0.0.1:0"))(t)
	p := New(nil, Options{})
	p.Close()
	if err := p.Serve(l); err != nil {
		t.Errorf("Serve after Close: %v", err)
	}
	if _, err := l.Accept(); err == nil {
		t.Error("Serve after Close leaves the listener open")
	}
}

// A listener that fails is said.
func TestServeError(t *testing.T) {
	t.Parallel()
	l := require.Must(net.Listen("tcp", "127.0.0.1:0"))(t)
	p := New(nil, Options{Plugin: "probe"})
	defer p.Close()
	_ = l.Close()
	if err := p.Serve(l); err == nil {
		t.Error("a closed listener is not an error")
	}
}
