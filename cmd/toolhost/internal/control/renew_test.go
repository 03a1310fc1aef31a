package control_test

import (
	"bytes"
	"context"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/control"
	"github.com/toolhost/toolhost/internal/test/require"
)

// A socket that was removed, alone or with its directory, is made again, and a call in progress goes on. A
// daemon whose place another has taken ends, and leaves the other's socket alone.
func TestRemovedSocketIsMadeAgain(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(require.Must(os.MkdirTemp("/tmp", "thc-"))(t), "d")
	defer func() { _ = os.RemoveAll(filepath.Dir(dir)) }()
	path := filepath.Join(dir, "c.sock")
	claim := require.Must(control.Take(path, control.Holder{PID: os.Getpid(), Root: "/r"}))(t)
	ln := require.Must(claim.Listen(8, admits, func(error) {}))(t)
	made, ended := make(chan struct{}), make(chan error, 1)
	go claim.Keep(t.Context(), ln, func() { made <- struct{}{} })
	server := http.Server{Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})} //nolint:gosec // a test
	go func() { ended <- server.Serve(ln) }()
	for _, remove := range []string{path, dir} {
		require.NoError(t, os.RemoveAll(remove))
		<-made
		resp, err := unixClient(path).Get("http://toolhost/")
		require.NoError(t, err)
		_ = resp.Body.Close()
	}
	require.NoError(t, os.RemoveAll(dir))
	other := require.Must(control.Take(path, control.Holder{PID: 1, Root: "/other"}))(t)
	theirs := require.Must(other.Listen(8, admits, func(error) {}))(t)
	if err := <-ended; err == nil || !bytes.Contains([]byte(err.Error()), []byte("another daemon has the socket")) {
		t.Errorf("it ends with %v", err)
	}
	if _, err := os.Lstat(path); err != nil {
		t.Errorf("the other's socket: %v", err)
	}
	_ = theirs.Close()
	require.NoError(t, other.Release())
	require.NoError(t, claim.Release())
}

// No connection is there for a second request, which could meet its end: the first answer says so.
func TestNoConnectionIsReused(t *testing.T) {
	t.Parallel()
	d := newDaemon(t)
	client := unixClient(d.path)
	for range 2 {
		resp, err := client.Post("http://toolhost/toolhost.daemon.v1.Daemon/ListTools", "application/json", bytes.NewReader([]byte("{}")))
		require.NoError(t, err)
		_ = resp.Body.Close()
		if resp.StatusCode != http.StatusOK || !resp.Close {
			t.Errorf("%s, and whether the connection ends: %t", resp.Status, resp.Close)
		}
	}
}

func unixClient(path string) *http.Client {
	return &http.Client{Transport: &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
		return net.Dial("unix", path)
	}}}
}
