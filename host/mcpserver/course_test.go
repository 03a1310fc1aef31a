package mcpserver_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/mcpserver"
	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/plugintest"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

func TestReportsOfAPlugin(t *testing.T) {
	t.Parallel()
	everyWay(t, func(t *testing.T, w way) {
		h := loaded(t, reporter)
		progress, lines := make(chan *mcp.ProgressNotificationParams, 20), make(chan *mcp.LoggingMessageParams, 20)
		c := w.connect(t, serve(t, h, mcpserver.Options{}), &mcp.ClientOptions{
			ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) { progress <- r.Params },
			LoggingMessageHandler:       func(_ context.Context, r *mcp.LoggingMessageRequest) { lines <- r.Params },
		})
		ctx := context.Background()
		params := &mcp.CallToolParams{Name: "r_progress"}
		params.SetMeta(map[string]any{"progressToken": "p"})
		require.Must(c.CallTool(ctx, params))(t)
		last := 0.0
		for last < 3 {
			select {
			case p := <-progress:
				if p.Progress <= last || p.Total != 3 || p.Message != "at it" || p.ProgressToken != "p" {
					t.Errorf("after %v: %+v", last, p)
				}
				last = p.Progress
			case <-time.After(ceiling):
				t.Fatal("there is no more progress")
			}
		}

		call(t, c, "r_log", `{}`) // before a level is set
		params = &mcp.CallToolParams{Name: "r_log"}
		if w.version < "2026" {
			require.NoError(t, c.SetLoggingLevel(ctx, &mcp.SetLoggingLevelParams{Level: "info"}))
		} else {
			params.SetMeta(map[string]any{mcp.MetaKeyLogLevel: "info"})
		}
		require.Must(c.CallTool(ctx, params))(t)
		select {
		case l := <-lines:
			if l.Level != "warning" || l.Data != "high enough n=1" {
				t.Errorf("the first line is %+v", l)
			}
		case <-time.After(ceiling):
			t.Error("there is no line")
		}

		params = &mcp.CallToolParams{Name: "r_trace"}
		params.SetMeta(map[string]any{"traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "tracestate": "a=b"})
		res, err := c.CallTool(ctx, params)
		if err != nil || text(res) != "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01 a=b "+
			"0af7651916cd43dd8448eb211c80319c b7ad6b7169203331 01 true" {
			t.Errorf("the trace: %+v, %v", res, err)
		}
	})
}

// began waits until a call of test.wait with the key has begun, ended until it has ended.
func waited(t *testing.T, h *host.Host, key, what string) {
	t.Helper()
	require.Eventually(t, "the call has "+what, func() bool {
		out := h.Call(context.Background(), tool.Call{
			Name: "test.waited", Arguments: json.RawMessage(fmt.Sprintf(`{"key":%q,%q:1}`, key, what)),
		})
		var n struct{ Began, Ended int }
		_ = json.Unmarshal([]byte(out.Content), &n)
		return out.Success && (what == "began" && n.Began == 1 || n.Ended == 1)
	})
}

// What ends a call for the client ends it for the plugin.
func TestCallsEndWithTheirClient(t *testing.T) {
	t.Parallel()
	everyWay(t, func(t *testing.T, w way) {
		h := loaded(t, plugintest.Fixture)
		s := serve(t, h, mcpserver.Options{})

		ctx, cancel := context.WithCancel(context.Background())
		c := w.connect(t, s, nil)
		failed := make(chan error, 1)
		go func() {
			_, err := c.CallTool(ctx, &mcp.CallToolParams{Name: "test_wait", Arguments: map[string]any{"key": "canceled"}})
			failed <- err
		}()
		waited(t, h, "canceled", "began")
		cancel()
		assert.ErrorIsf(t, <-failed, context.Canceled, "the client")
		waited(t, h, "canceled", "ended")

		// The client is gone without a word.
		if w.http {
			front := httptest.NewServer(s.Handler())
			t.Cleanup(front.Close)
			gone := require.Must(mcp.NewClient(&mcp.Implementation{Name: "tester"}, nil).Connect(context.Background(),
				&mcp.StreamableClientTransport{Endpoint: front.URL, MaxRetries: -1}, &mcp.ClientSessionOptions{ProtocolVersion: w.version}))(t)
			ctx, cancel := context.WithCancel(context.Background())
			t.Cleanup(cancel)
			go func() {
				_, _ = gone.CallTool(ctx, &mcp.CallToolParams{Name: "test_wait", Arguments: map[string]any{"key": "gone"}})
			}()
			waited(t, h, "gone", "began")
			front.CloseClientConnections()
			if w.version < "2026" { // a request is dropped, and the session stays
				waited(t, h, "gone", "ended")
				dropRequest(t, h, front.URL, w.connectBy(t, &mcp.StreamableClientTransport{Endpoint: front.URL}, nil).ID())
			}
		} else {
			theirs, ours, hangUp := pipes()
			ran := make(chan error, 1)
			go func() { ran <- s.Run(context.Background(), ours) }()
			gone := require.Must(mcp.NewClient(&mcp.Implementation{Name: "tester"}, nil).
				Connect(context.Background(), theirs, &mcp.ClientSessionOptions{ProtocolVersion: w.version}))(t)
			go func() {
				_, _ = gone.CallTool(context.Background(), &mcp.CallToolParams{Name: "test_wait", Arguments: map[string]any{"key": "gone"}})
			}()
			waited(t, h, "gone", "began")
			hangUp()
			if err := <-ran; err != nil {
				t.Errorf("Run: %v", err)
			}
		}
		waited(t, h, "gone", "ended")
	})
}

// dropRequest sends a call, and drops the connection while it runs.
func dropRequest(t *testing.T, h *host.Host, url, session string) {
	t.Helper()
	ctx, drop := context.WithCancel(context.Background())
	defer drop()
	req := require.Must(http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(
		`{"jsonrpc":"2.0","id":77,"method":"tools/call","params":{"name":"test_wait","arguments":{"key":"dropped"}}}`)))(t)
	for k, v := range map[string]string{
		"Content-Type": "application/json", "Accept": "application/json, text/event-stream", "Mcp-Session-Id": session,
	} {
		req.Header.Set(k, v)
	}
	go func() {
		if res, err := http.DefaultClient.Do(req); err == nil {
			_, _ = io.Copy(io.Discard, res.Body)
			_ = res.Body.Close()
		}
	}()
	waited(t, h, "dropped", "began")
	drop()
	waited(t, h, "dropped", "ended")
}

// Close ends calls that are in progress, and sessions.
func TestClose(t *testing.T) {
	t.Parallel()
	everyWay(t, func(t *testing.T, w way) {
		h := loaded(t, plugintest.Fixture)
		var given *host.Session
		s := serve(t, h, mcpserver.Options{Session: func(context.Context, mcpserver.Client) (*host.Session, error) {
			given = h.Session()
			return given, nil
		}})
		c := w.connect(t, s, nil)
		go func() {
			_, _ = c.CallTool(context.Background(), &mcp.CallToolParams{Name: "test_wait", Arguments: map[string]any{"key": "k"}})
		}()
		waited(t, h, "k", "began")
		assert.NoError(t, s.Close())
		waited(t, h, "k", "ended")
		for range given.Changes() { // closed with the session
			t.Error("the session is open")
		}
	})
}

// A change of the tools reaches the clients whose list has changed, and no others.
func TestListChanged(t *testing.T) {
	t.Parallel()
	everyWay(t, func(t *testing.T, w way) {
		h := newHost(t)
		var mu sync.Mutex
		seen := 0
		s := serve(t, h, mcpserver.Options{Session: func(context.Context, mcpserver.Client) (*host.Session, error) {
			mu.Lock()
			defer mu.Unlock()
			seen++
			if seen%2 == 0 { // the second client
				return h.Session(host.WithVisible(func(d tool.Definition) bool { return !strings.HasPrefix(d.Name, "secret") })), nil
			}
			return h.Session(), nil
		}})
		told := [2]chan string{make(chan string, 10), make(chan string, 10)}
		var clients []*mcp.ClientSession
		for i := range told {
			o := &mcp.ClientOptions{ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) { told[i] <- "told" }}
			c := w.connect(t, s, o, fmt.Sprint("client ", i))
			clients = append(clients, c)
		}
		// Clients of the stateless revision listen a moment after they are connected.
		for i := 0; len(told[0]) == 0 || len(told[1]) == 0; i++ {
			if i == 1000 {
				t.Fatal("the clients are not told of changes")
			}
			require.NoError(t, h.Register(echo(fmt.Sprint("first.", i))))
			<-time.After(20 * time.Millisecond)
		}
		quiet(told[0])
		quiet(told[1])
		require.NoError(t, h.Register(echo("secret.a")))
		receive(t, told[0])
		require.NoError(t, h.Register(echo("open.b")))
		receive(t, told[0])
		receive(t, told[1])
		if len(told[1]) > 0 {
			t.Error("the second client was told of what it does not see")
		}
		got := slices.DeleteFunc(names(t, clients[1]), func(n string) bool { return strings.HasPrefix(n, "first") })
		assert.EqualSlicesf(t, got, []string{"open_b"}, "the second client sees")
	})
}

// quiet receives what comes until nothing more does for a while.
func quiet(from <-chan string) {
	for {
		select {
		case <-from:
		case <-time.After(100 * time.Millisecond):
			return
		}
	}
}

func receive(t *testing.T, from <-chan string) {
	t.Helper()
	select {
	case <-from:
	case <-time.After(ceiling):
		t.Fatal("the client was not told")
	}
}
