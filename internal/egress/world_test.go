package egress

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/toolhost/toolhost/internal/test/require"
)

// TestMain fails if a goroutine of the package is left.
func TestMain(m *testing.M) {
	if os.Getenv(childURL) != "" {
		os.Exit(child())
	}
	code := m.Run()
	for begin := time.Now(); time.Since(begin) < require.Ceiling; time.Sleep(10 * time.Millisecond) {
		if left := goroutines(); left == "" {
			os.Exit(code)
		}
	}
	fmt.Fprintln(os.Stderr, "goroutines are left:\n"+goroutines())
	os.Exit(1)
}

// goroutines are those, besides the caller's, that run code of this package, and of net/http.
func goroutines() string {
	buf := make([]byte, 1<<20)
	all := strings.Split(string(buf[:runtime.Stack(buf, true)]), "\n\n")
	return strings.Join(slices.DeleteFunc(all[1:], func(s string) bool {
		return !strings.Contains(s, "internal/egress.") && !strings.Contains(s, "net/http")
	}), "\n\n")
}

// world is a network for one proxy: names, and what is at their addresses.
type world struct {
	t     *testing.T
	proxy *Proxy
	addr  string // the proxy's

	mu     sync.Mutex
	names  map[string][]string
	routes map[string]string // from an address to a server on the loopback interface
	looked []string
	dialed []string
	events []Event
	err    error // of what is looked up, if it is a net.DNSError, or dialed
}

// newWorld starts a proxy with these patterns.
func newWorld(t *testing.T, patterns ...string) *world {
	t.Helper()
	w := &world{t: t, names: map[string][]string{}, routes: map[string]string{}}
	w.proxy = New(parse(t, patterns...), Options{
		Plugin: "probe", Lookup: w.lookup, Dial: w.dial,
		Report: func(e Event) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.events = append(w.events, e)
		},
	})
	l := require.Must(net.Listen("tcp", "127.0.0.1:0"))(t)
	w.addr = l.Addr().String()
	served := make(chan error, 1)
	go func() { served <- w.proxy.Serve(l) }()
	t.Cleanup(func() {
		w.proxy.Close()
		if err := <-served; err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
	return w
}

func parse(t *testing.T, patterns ...string) (out []Pattern) {
	t.Helper()
	for _, s := range patterns {
		p := require.Must(ParsePattern(s))(t)
		out = append(out, p)
	}
	return out
}

func (w *world) lookup(_ context.Context, name string) (out []netip.Addr, _ error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.looked = append(w.looked, name)
	if dns := new(net.DNSError); errors.As(w.err, &dns) {
		return nil, w.err
	}
	for _, a := range w.names[name] {
		out = append(out, netip.MustParseAddr(a))
	}
	if out == nil {
		return nil, &net.DNSError{Err: "no such host", Name: name, Server: "10.9.8.7:53", IsNotFound: true}
	}
	return out, nil
}

func (w *world) dial(ctx context.Context, addr netip.AddrPort) (net.Conn, error) {
	w.mu.Lock()
	w.dialed = append(w.dialed, addr.String())
	to, ok := w.routes[addr.String()]
	err := w.err
	w.mu.Unlock()
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, &net.OpError{Op: "dial", Err: errors.New("no route to that address in the test")}
	}
	return (&net.Dialer{}).DialContext(ctx, "tcp", to)
}

// at puts the server at name:port and at a public address.
func (w *world) at(name, addr string, server net.Addr) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if name != "" {
		w.names[name] = append(w.names[name], netip.MustParseAddrPort(addr).Addr().String())
	}
	w.routes[addr] = server.String()
}

// took returns what was looked up and dialed.
func (w *world) took() (looked, dialed []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.looked), slices.Clone(w.dialed)
}

// connect opens a connection to the proxy.
func (w *world) connect() *net.TCPConn {
	w.t.Helper()
	conn, err := net.Dial("tcp", w.addr)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(require.Ceiling))
	return conn.(*net.TCPConn)
}

// raw sends bytes and returns all that is answered.
func (w *world) raw(request string) string {
	w.t.Helper()
	conn := w.connect()
	if _, err := io.WriteString(conn, request); err != nil {
		w.t.Fatal(err)
	}
	answer, err := io.ReadAll(conn)
	if err != nil {
		w.t.Fatalf("%q: %v after %q", request, err, answer)
	}
	return string(answer)
}

// tunnel opens a tunnel by CONNECT.
func (w *world) tunnel(target string) *net.TCPConn {
	w.t.Helper()
	conn := w.connect()
	if _, err := fmt.Fprintf(conn, "CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n", target, target); err != nil {
		w.t.Fatal(err)
	}
	established(w.t, conn)
	return conn
}

// established reads the answer to a CONNECT that has succeeded, and no byte more.
func established(t *testing.T, conn net.Conn) {
	t.Helper()
	const want = "HTTP/1.1 200 Connection established\r\n\r\n"
	answer := make([]byte, len(want))
	if _, err := io.ReadFull(conn, answer); err != nil || string(answer) != want {
		t.Fatalf("the answer to CONNECT is %q, %v", answer, err)
	}
}

// server runs serve for each connection to a listener on the loopback interface.
func server(t *testing.T, serve func(conn *net.TCPConn)) net.Addr {
	t.Helper()
	l := require.Must(net.Listen("tcp", "127.0.0.1:0"))(t)
	var running sync.WaitGroup
	var mu sync.Mutex
	var open []net.Conn
	running.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			open = append(open, conn)
			mu.Unlock()
			running.Go(func() {
				defer func() { _ = conn.Close() }()
				serve(conn.(*net.TCPConn))
			})
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		mu.Lock()
		for _, conn := range open {
			_ = conn.Close()
		}
		mu.Unlock()
		running.Wait()
	})
	return l.Addr()
}
