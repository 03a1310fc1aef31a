package egress

import (
	"context"
	"io"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolhost/toolhost/internal/test/require"
)

// pipe is a connection in memory whose directions end one by one, as those of TCP do. Its
// times are those of the test.
func pipe() (a, b net.Conn) {
	ar, bw := net.Pipe()
	br, aw := net.Pipe()
	return &duplex{Conn: ar, w: aw}, &duplex{Conn: br, w: bw}
}

type duplex struct {
	net.Conn // what it reads
	w        net.Conn
}

func (d *duplex) Write(b []byte) (int, error)         { return d.w.Write(b) }
func (d *duplex) CloseWrite() error                   { return d.w.Close() }
func (d *duplex) SetWriteDeadline(at time.Time) error { return d.w.SetWriteDeadline(at) }

func (d *duplex) SetDeadline(at time.Time) error {
	_ = d.w.SetDeadline(at)
	return d.Conn.SetDeadline(at)
}

func (d *duplex) Close() error {
	_ = d.w.Close()
	return d.Conn.Close()
}

// pipes is a listener of such connections.
type pipes struct {
	conns chan net.Conn
	once  sync.Once
	done  chan struct{}
}

func (l *pipes) Accept() (net.Conn, error) {
	select {
	case conn := <-l.conns:
		return conn, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

func (l *pipes) Close() error   { l.once.Do(func() { close(l.done) }); return nil }
func (l *pipes) Addr() net.Addr { return &net.TCPAddr{} }

// inTime runs a test in a bubble, with a proxy whose connections are pipes. Goroutines that
// are left at its end fail it.
func inTime(t *testing.T, test func(in *bubble)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		in := &bubble{T: t, listener: &pipes{conns: make(chan net.Conn), done: make(chan struct{})}}
		in.proxy = New(parse(t, "api.example.com:443", "api.example.com:80"), Options{
			Lookup: func(context.Context, string) ([]netip.Addr, error) {
				return []netip.Addr{netip.MustParseAddr("2606:4700::1"), netip.MustParseAddr("93.184.216.34"), netip.MustParseAddr("93.184.216.35")}, nil
			},
			Dial: func(ctx context.Context, addr netip.AddrPort) (net.Conn, error) { return in.dial(ctx, addr) },
		})
		go func() { _ = in.proxy.Serve(in.listener) }()
		defer in.proxy.Close()
		test(in)
	})
}

// bubble is a test with times of its own. What it waits for has to be made inside it.
type bubble struct {
	*testing.T
	proxy    *Proxy
	listener *pipes
	dial     func(context.Context, netip.AddrPort) (net.Conn, error)
}

// connect opens a connection to the proxy and sends something.
func (in *bubble) connect(sent string) net.Conn {
	client, inside := pipe()
	in.listener.conns <- inside
	if sent != "" {
		require.Must(io.WriteString(client, sent))(in)
	}
	return client
}

// upstream puts one server in memory where everything leads, and returns its end.
func (in *bubble) upstream() net.Conn {
	near, far := pipe()
	in.dial = func(context.Context, netip.AddrPort) (net.Conn, error) { return near, nil }
	return far
}

// lasts reads to the end and returns what it read and how long that took.
func lasts(conn net.Conn) (string, time.Duration) {
	began := time.Now()
	all, _ := io.ReadAll(conn)
	took := time.Since(began)
	_ = conn.Close()
	return string(all), took
}

// A client that does not say what it wants is not waited for.
func TestSlowRequests(t *testing.T) {
	t.Parallel()
	for _, sent := range []string{"", "C", "CONNECT api.example.com:443 HTTP/1.1\r\nX: ", "\x05", "\x05\x01", "\x05\x01\x00\x05\x01\x00\x03\x0fapi"} {
		t.Run(sent, func(t *testing.T) {
			t.Parallel()
			inTime(t, func(in *bubble) {
				conn := in.connect("")
				var slow sync.WaitGroup
				slow.Go(func() {
					for i := range len(sent) {
						if _, err := conn.Write([]byte{sent[i]}); err != nil {
							return
						}
						time.Sleep(3 * time.Second)
					}
				})
				defer slow.Wait()
				if answer, took := lasts(conn); took != handshakeTime {
					in.Errorf("%q after %v", answer, took)
				}
			})
		})
	}
}

const connectRequest = "CONNECT api.example.com:443 HTTP/1.1\r\nHost: api.example.com:443\r\n\r\n"

// A tunnel lasts as long as something passes in either direction, and a while longer.
func TestIdleTunnel(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(in *bubble) net.Conn{
		"CONNECT": func(in *bubble) net.Conn {
			conn := in.connect(connectRequest)
			established(in.T, conn)
			return conn
		},
		"SOCKS": func(in *bubble) net.Conn {
			conn := in.connect("\x05\x01\x00")
			_, _ = io.ReadFull(conn, make([]byte, 2))
			_, _ = io.WriteString(conn, "\x05\x01\x00\x03\x0fapi.example.com\x01\xbb")
			_, _ = io.ReadFull(conn, make([]byte, 10))
			return conn
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inTime(t, func(in *bubble) {
				far := in.upstream()
				conn := open(in)
				for range 10 {
					time.Sleep(idleTime - time.Second)
					go func() { _, _ = far.Write([]byte("x")) }()
					if _, err := io.ReadFull(conn, make([]byte, 1)); err != nil {
						in.Fatalf("the tunnel has ended: %v", err)
					}
				}
				if _, took := lasts(conn); took != idleTime {
					in.Errorf("an idle tunnel lasts %v, not %v", took, idleTime)
				}
				if n, err := far.Read(make([]byte, 1)); err == nil {
					in.Errorf("the server can still read: %d", n)
				}
			})
		})
	}
}

// A server that says nothing to a client that has sent everything is not waited for as long.
func TestIdleHalfClosed(t *testing.T) {
	t.Parallel()
	inTime(t, func(in *bubble) {
		far := in.upstream()
		conn := in.connect(connectRequest)
		established(in.T, conn)
		_ = conn.(*duplex).CloseWrite()
		require.Must(io.ReadAll(far))(in)
		time.Sleep(halfOpenTime - time.Second)
		go func() { _, _ = far.Write([]byte("x")) }()
		if got, took := lasts(conn); got != "x" || took != halfOpenTime {
			in.Errorf("%q after %v", got, took)
		}
	})
}

// A request that is forwarded may take its time too, in both directions.
func TestSlowForward(t *testing.T) {
	t.Parallel()
	inTime(t, func(in *bubble) {
		far := in.upstream()
		go func() {
			buf := make([]byte, 4096)
			got := ""
			for !strings.HasSuffix(got, "\r\n\r\nbody") {
				n, err := far.Read(buf)
				if err != nil {
					return
				}
				got += string(buf[:n])
			}
			for _, s := range []string{"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n", "a", "b"} {
				_, _ = io.WriteString(far, s)
				time.Sleep(idleTime - time.Second)
			}
		}()
		conn := in.connect("POST http://api.example.com/ HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\n")
		for _, s := range []string{"b", "o", "d", "y"} {
			time.Sleep(handshakeTime + time.Second)
			require.Must(io.WriteString(conn, s))(in)
		}
		got, took := lasts(conn)
		if !strings.HasSuffix(got, "\r\n\r\nab") || took < 3*idleTime-3*time.Second || took > 3*idleTime {
			in.Errorf("%q after %v", got, took)
		}
	})
}

// An address that does not answer leaves time for the next one.
func TestSilentAddress(t *testing.T) {
	t.Parallel()
	inTime(t, func(in *bubble) {
		near, far := pipe()
		var dialed []string
		in.dial = func(ctx context.Context, addr netip.AddrPort) (net.Conn, error) {
			dialed = append(dialed, addr.String())
			if len(dialed) < 3 {
				<-ctx.Done()
				return nil, ctx.Err()
			}
			return near, nil
		}
		conn := in.connect(connectRequest)
		established(in.T, conn)
		if want := []string{"[2606:4700::1]:443", "93.184.216.34:443", "93.184.216.35:443"}; !slices.Equal(dialed, want) {
			in.Errorf("dialed %v", dialed)
		}
		_ = conn.Close()
		_ = far.Close()
	})
}

// A name without an address that answers is a 504, after a bounded time.
func TestNothingAnswers(t *testing.T) {
	t.Parallel()
	inTime(t, func(in *bubble) {
		in.dial = func(ctx context.Context, _ netip.AddrPort) (net.Conn, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}
		if got, took := lasts(in.connect(connectRequest)); !strings.HasPrefix(got, "HTTP/1.1 504 ") || took > connectTime+time.Second {
			in.Errorf("%q after %v", got, took)
		}
	})
}

// A client that goes while its request waits for a connection ends the attempt.
func TestClientGoes(t *testing.T) {
	t.Parallel()
	inTime(t, func(in *bubble) {
		ended := make(chan time.Duration, 1)
		in.dial = func(ctx context.Context, _ netip.AddrPort) (net.Conn, error) {
			began := time.Now()
			<-ctx.Done()
			ended <- time.Since(began)
			return nil, ctx.Err()
		}
		conn := in.connect("GET http://api.example.com/ HTTP/1.1\r\nHost: x\r\n\r\n")
		time.Sleep(time.Second)
		_ = conn.Close()
		if took := <-ended; took != time.Second {
			in.Errorf("the attempt lasts %v", took)
		}
	})
}

// Connections that come faster than they may wait, which costs the host nothing.
func TestPace(t *testing.T) {
	t.Parallel()
	inTime(t, func(in *bubble) {
		began := time.Now()
		const n = 2000
		for range n {
			_ = in.connect("").Close()
		}
		if took := time.Since(began); took < (n-burst-2)*time.Second/perSecond {
			in.Errorf("%d connections are taken in %v", n, took)
		}
	})
}
