package mcpbridge_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/mcpbridge"
	"github.com/toolhost/toolhost/internal/test/plugintest"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

const hello = `{"jsonrpc":"2.0","id":"h","method":"initialize","params":{"protocolVersion":"2025-11-25",` +
	`"capabilities":{},"clientInfo":{"name":"raw","version":"1"}}}` + "\n" +
	`{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n"

// rawClient is a client on real pipes that sends what it likes.
func rawClient(t *testing.T, s *mcpbridge.Server) (to *os.File, from *bufio.Scanner, ended <-chan error) {
	t.Helper()
	theirs, to, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	answers, ours, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = to.Close(); _ = answers.Close() })
	done := make(chan error, 1)
	go func() {
		done <- s.Run(context.Background(), &mcp.IOTransport{Reader: theirs, Writer: ours})
		_ = ours.Close()
	}()
	lines := bufio.NewScanner(answers)
	lines.Buffer(nil, 1<<20)
	return to, lines, done
}

// Frames that are none end the connection, and nothing else: not the calls of others.
func TestFramesThatAreNone(t *testing.T) {
	t.Parallel()
	h := loaded(t, plugintest.Fixture)
	s := serve(t, h, mcpbridge.ServerOptions{})
	other := ways[1].connect(t, s, nil)
	huge := func() io.Reader {
		return io.MultiReader(strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"`),
			io.LimitReader(zeros{}, 64<<20), strings.NewReader(`"}}`+"\n"))
	}
	for name, frames := range map[string]io.Reader{
		"not JSON": strings.NewReader(hello + "this is not JSON\n"),
		"half":     strings.NewReader(hello + `{"jsonrpc":"2.0","id":1,"meth`),
		"an array": strings.NewReader(hello + "[]\n"),
		"a number": strings.NewReader(hello + "7\n"),
		"64 MiB":   huge(),
		"binary":   strings.NewReader("\x00\xff\xfe\n"),
	} {
		to, from, ended := rawClient(t, s)
		go func() {
			_, _ = io.Copy(to, frames)
			_ = to.Close()
		}()
		go func() {
			for from.Scan() {
			}
		}()
		select {
		case err := <-ended:
			t.Logf("%s: %v", name, err)
		case <-time.After(ceiling):
			t.Fatalf("%s: the connection is open", name)
		}
	}
	if got := text(call(t, other, "test_echo", `{"a":1}`)); got != `{"a":1}` {
		t.Errorf("the other client: %q", got)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = '0'
	}
	return len(p), nil
}

// Of 10,000 requests at once those beyond the limit are refused, and the others run on.
func TestOpenRequestsAreBounded(t *testing.T) {
	t.Parallel()
	h := loaded(t, plugintest.Fixture)
	const limit, all = 50, 10_000
	s := serve(t, h, mcpbridge.ServerOptions{MaxOpen: limit})
	to, from, ended := rawClient(t, s)
	go func() {
		out := bufio.NewWriter(to)
		_, _ = out.WriteString(hello)
		for i := range all {
			_, _ = fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"test_wait","arguments":{"key":"k"}}}`+"\n", i)
		}
		_ = out.Flush()
	}()
	refused := 0
	for refused < all-limit && from.Scan() {
		var m struct {
			Error struct {
				Code    int
				Message string
			}
		}
		if err := json.Unmarshal(from.Bytes(), &m); err != nil {
			t.Fatal(err)
		}
		if m.Error.Code == -32000 && strings.Contains(m.Error.Message, "50 requests are open, and that is the limit") {
			refused++
		} else if m.Error.Code != 0 {
			t.Fatalf("unexpected: %s", from.Bytes())
		}
	}
	if refused != all-limit {
		t.Errorf("%d of %d were refused", refused, all)
	}
	_ = to.Close()
	if err := <-ended; err != nil {
		t.Errorf("Run: %v", err)
	}
	wait(t, func() bool {
		out := h.Call(context.Background(), tool.Call{Name: "test.waited", Arguments: json.RawMessage(`{"key":"k"}`)})
		var n struct{ Began, Ended int }
		_ = json.Unmarshal([]byte(out.Content), &n)
		return n.Began == n.Ended
	})
}

// Sessions are bounded, for one caller at half of all, and end when they are idle.
func TestSessionsAreBounded(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	if err := h.Register(echo("t.a")); err != nil {
		t.Fatal(err)
	}
	var given []*host.Session
	s := serve(t, h, mcpbridge.ServerOptions{
		MaxSessions: 20, IdleTimeout: 500 * time.Millisecond,
		Session: func(context.Context, mcpbridge.Client) (*host.Session, error) {
			given = append(given, h.Session())
			return given[len(given)-1], nil
		},
	})
	front := httptest.NewServer(authenticated(s.Handler()))
	t.Cleanup(front.Close)
	begin := func(who string) string {
		req, err := http.NewRequestWithContext(context.Background(), http.MethodPost, front.URL,
			strings.NewReader(strings.SplitAfter(hello, "\n")[0]))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", "application/json, text/event-stream")
		req.Header.Set("Authorization", "Bearer "+who)
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = res.Body.Close() }()
		return readAll(t, res.Body)
	}
	refused := 0
	for range 100 {
		if strings.Contains(begin("ann"), "too many sessions are open") {
			refused++
		}
	}
	if refused != 90 {
		t.Errorf("%d of 100 sessions of one caller were refused", refused)
	}
	if got := begin("ben"); !strings.Contains(got, `"result"`) {
		t.Errorf("another caller: %s", got)
	}
	wait(t, func() bool { return strings.Contains(begin("ann"), `"result"`) })
	for range given[0].Changes() { // closed with the session
		t.Error("an idle session is open")
	}
}

// A request that is too large is refused.
func TestLargeRequests(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	front := httptest.NewServer(serve(t, h, mcpbridge.ServerOptions{MaxRequestBytes: 1000}).Handler())
	t.Cleanup(front.Close)
	code, body := raw(t, front.URL, "tools/list", "", `,"x":"`+strings.Repeat("x", 2000)+`"`, nil)
	if code != http.StatusRequestEntityTooLarge {
		t.Errorf("%d %s", code, body)
	}
}
