package mcpserver_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/mcpclient"
	"github.com/toolhost/toolhost/host/mcpserver"
	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/mcptest"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// rootsServer returns a server that asks for roots when a client comes, and when they change, as a file server
// does. Its tool answers with those that it was told last.
func rootsServer() *mcp.Server {
	var told atomic.Value
	told.Store("none")
	learn := func(ss *mcp.ServerSession) {
		res, err := ss.ListRoots(context.Background(), nil)
		if err != nil {
			told.Store(err.Error())
			return
		}
		var all []string
		for _, r := range res.Roots {
			all = append(all, r.URI)
		}
		told.Store(strings.Join(all, " "))
	}
	s := mcp.NewServer(&mcp.Implementation{Name: "s", Version: "1"}, &mcp.ServerOptions{
		InitializedHandler:      func(_ context.Context, r *mcp.InitializedRequest) { go learn(r.Session) },
		RootsListChangedHandler: func(_ context.Context, r *mcp.RootsListChangedRequest) { go learn(r.Session) },
	})
	s.AddTool(&mcp.Tool{Name: "told", Description: "Tells.", InputSchema: json.RawMessage(`{"type":"object"}`)},
		func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: told.Load().(string)}}}, nil
		})
	return s
}

// A server that asks for roots outside of a call is told those in the workspace of the only client that has any, and
// when that changes.
func TestRootsOutsideOfCalls(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	u := require.Must(mcpclient.New(mcpclient.Config{
		Name: "s", Command: require.Must(os.Executable())(t), Env: []string{mountedVariable + "=" + asksRoots},
		Safety: func(string) tool.Safety { return tool.Safe }, Version: "2025-11-25", Root: h.Root(),
	}))(t)
	require.Must(h.Mount(t.Context(), plugin.Server{Name: "s", Connector: u, Identity: "s"}))(t)
	upstreams := func() []mcpserver.Upstream { return []mcpserver.Upstream{u} }
	s := serve(t, h, mcpserver.Options{Upstreams: upstreams}, host.WithApprover(allowed))
	told := func(want string) {
		t.Helper()
		var got string
		require.Eventually(t, "the server is told "+want, func() bool {
			res, err := h.Session(host.WithApprover(allowed)).Execute(t.Context(), tool.Call{Name: "s.told"})
			got = res.Text()
			require.NoError(t, err)
			return got == want
		})
	}
	workspace := "file://" + h.Root()
	told("")
	with := func(w way, uris ...string) (*mcp.Client, *mcp.ClientSession) {
		client := mcp.NewClient(&mcp.Implementation{Name: "roots", Version: "1"}, nil)
		for _, uri := range uris {
			client.AddRoots(&mcp.Root{URI: uri})
		}
		theirs, ours, _ := pipes()
		go func() { _ = s.Run(context.Background(), ours) }()
		c := require.Must(client.Connect(t.Context(), theirs, &mcp.ClientSessionOptions{ProtocolVersion: w.version}))(t)
		t.Cleanup(func() { _ = c.Close() })
		return client, c
	}
	session := way{version: "2025-11-25"}
	client, first := with(session, workspace+"/a", "file:///etc", workspace+"/../b", "https://example.com/")
	told(workspace + "/a")
	client.AddRoots(&mcp.Root{URI: workspace + "/c"})
	told(workspace + "/a " + workspace + "/c")
	_, second := with(session, workspace+"/d")
	told("")
	require.NoError(t, first.Close())
	told(workspace + "/d")
	require.NoError(t, second.Close())
	told("")
}

// A client that ends its session is not waited for, though it was asked for its roots.
func TestEndedWithoutRoots(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	s := serve(t, h, mcpserver.Options{Upstreams: mounted(t, h, mcptest.Everything)})
	front := httptest.NewServer(s.Handler())
	t.Cleanup(front.Close)
	session := ""
	send := func(method, body string, read func(io.Reader)) (int, http.Header) {
		ctx, cancel := context.WithTimeout(context.Background(), ceiling)
		defer cancel()
		req := require.Must(http.NewRequestWithContext(ctx, method, front.URL, strings.NewReader(body)))(t)
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", "application/json, text/event-stream")
		req.Header.Set("Mcp-Session-Id", session)
		res, err := http.DefaultClient.Do(req)
		require.NoError(t, err)
		defer func() { _ = res.Body.Close() }()
		if read != nil {
			read(res.Body)
		}
		return res.StatusCode, res.Header
	}
	_, header := send(http.MethodPost, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18",
		"capabilities":{"roots":{}},"clientInfo":{"name":"c","version":"1"}}}`, nil)
	session = header.Get("Mcp-Session-Id")
	send(http.MethodGet, "", func(stream io.Reader) {
		send(http.MethodPost, `{"jsonrpc":"2.0","method":"notifications/initialized"}`, nil)
		asked := bufio.NewScanner(stream)
		for asked.Scan() && !strings.Contains(asked.Text(), "roots/list") {
		}
		require.NoError(t, asked.Err())
		status, _ := send(http.MethodDelete, "", nil)
		assert.Equalf(t, status, http.StatusNoContent, "the end of the session")
	})
}

// asksRoots is the value of mountedVariable that makes the test's binary a rootsServer.
const asksRoots = "roots"
