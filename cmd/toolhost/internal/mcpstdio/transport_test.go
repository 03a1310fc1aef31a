package mcpstdio

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/require"
)

const request = `{"jsonrpc":"2.0","id":1,"method":"tools/call"}` + "\n"

// opened returns a connection whose input is a request, and what the client reads.
func opened(t *testing.T, in *os.File, o Transport) (read func() (jsonrpc.Message, error), answer func(), out *os.File) {
	t.Helper()
	out, o.Out = piped(t)
	o.In = in
	c := require.Must(o.Connect(context.Background()))(t)
	t.Cleanup(func() { _ = c.Close() })
	m, err := c.Read(context.Background())
	r, ok := m.(*jsonrpc.Request)
	if err != nil || !ok {
		t.Fatalf("%v %v", m, err)
	}
	return func() (jsonrpc.Message, error) { return c.Read(context.Background()) }, func() {
		assert.NoError(t, c.Write(context.Background(), &jsonrpc.Response{ID: r.ID, Result: json.RawMessage("{}")}))
	}, out
}

func piped(t *testing.T) (r, w *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	require.NoError(t, err)
	t.Cleanup(func() { _, _ = r.Close(), w.Close() })
	return r, w
}

// A client that closes its end is not waited for as long as the process may drain: its calls end.
func TestClientLeaves(t *testing.T) {
	t.Parallel()
	in, client := piped(t)
	require.Must(io.WriteString(client, request))(t)
	_ = client.Close()
	read, _, _ := opened(t, in, Transport{Drain: time.Hour, leave: time.Millisecond})
	if _, err := read(); err != io.EOF { //nolint:errorlint // as the SDK has it
		t.Errorf("a client that has left: %v", err)
	}
}

// The answers to what stands in a file are waited for, though the file has ended.
func TestInputIsFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "requests")
	require.NoError(t, os.WriteFile(path, []byte(request), 0o600))
	in := require.Must(os.Open(path))(t)
	t.Cleanup(func() { _ = in.Close() })
	read, answer, out := opened(t, in, Transport{Drain: time.Hour, Whole: IsFile(in), leave: time.Millisecond})
	ended := make(chan error, 1)
	go func() {
		_, err := read()
		ended <- err
	}()
	select {
	case err := <-ended:
		t.Fatalf("it does not wait: %v", err)
	case <-time.After(50 * time.Millisecond): // 50 times as long as a client would be waited for
	}
	answer()
	if err := <-ended; err != io.EOF { //nolint:errorlint // as the SDK has it
		t.Error(err)
	}
	if text, err := io.ReadAll(io.LimitReader(out, 10)); err != nil || len(text) == 0 {
		t.Errorf("%q %v", text, err)
	}
}
