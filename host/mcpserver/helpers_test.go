package mcpserver_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolhost/toolhost/internal/test/require"
)

func asError[T error](err error, target *T) bool { return errors.As(err, target) }

func readAll(t testing.TB, r io.Reader) string {
	t.Helper()
	b := require.Must(io.ReadAll(r))(t)
	return string(b)
}

// authenticated takes each bearer token for the name of its caller.
func authenticated(h http.Handler) http.Handler {
	verify := func(_ context.Context, token string, _ *http.Request) (*auth.TokenInfo, error) {
		return &auth.TokenInfo{UserID: token, Expiration: time.Now().Add(time.Hour)}, nil
	}
	return auth.RequireBearerToken(verify, nil)(h)
}

// pipes are both ends of real pipes, as those of standard input and output, and what closes the
// client's.
func pipes() (client, server *mcp.IOTransport, hangUp func()) {
	fromClient, toServer, err1 := os.Pipe()
	fromServer, toClient, err2 := os.Pipe()
	if err := errors.Join(err1, err2); err != nil {
		panic(err)
	}
	return &mcp.IOTransport{Reader: fromServer, Writer: toServer}, &mcp.IOTransport{Reader: fromClient, Writer: toClient},
		func() { _ = toServer.Close(); _ = fromServer.Close() }
}

// inMemory is a listener, and what connects to it, whose connections are in memory, as those of a
// bubble of testing/synctest have to be.
type inMemory struct {
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

func (m *inMemory) Accept() (net.Conn, error) {
	select {
	case conn := <-m.conns:
		return conn, nil
	case <-m.done:
		return nil, net.ErrClosed
	}
}

func (m *inMemory) Close() error   { m.once.Do(func() { close(m.done) }); return nil }
func (m *inMemory) Addr() net.Addr { return &net.TCPAddr{} }

func (m *inMemory) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	ours, theirs := net.Pipe()
	select {
	case m.conns <- theirs:
		return ours, nil
	case <-m.done:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// frontInMemory serves a handler in memory until the test ends, and returns a client of it: any
// URL leads there.
func frontInMemory(t testing.TB, handler http.Handler) *http.Client {
	l := &inMemory{conns: make(chan net.Conn), done: make(chan struct{})}
	front, by := &http.Server{Handler: handler}, &http.Transport{DialContext: l.dial} //nolint:gosec // of a test
	go func() { _ = front.Serve(l) }()
	t.Cleanup(func() { by.CloseIdleConnections(); _ = front.Close() })
	return &http.Client{Transport: by}
}

// bearer sends requests as a caller.
type bearer string

func (b bearer) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	req.Header.Set("Authorization", "Bearer "+string(b))
	return http.DefaultTransport.RoundTrip(req)
}

// recorder writes the bodies of answers to a writer, too.
type recorder struct{ to io.Writer }

func (r recorder) RoundTrip(req *http.Request) (*http.Response, error) {
	res, err := http.DefaultTransport.RoundTrip(req)
	if err == nil {
		res.Body = recordedBody{res.Body, r.to}
	}
	return res, err
}

type recordedBody struct {
	io.ReadCloser
	to io.Writer
}

func (b recordedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	_, _ = b.to.Write(p[:n])
	return n, err
}

// record is a buffer for several writers.
type record struct {
	mu   sync.Mutex
	text []byte
}

func (r *record) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.text = append(r.text, p...)
	return len(p), nil
}

func (r *record) String() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return string(r.text)
}
