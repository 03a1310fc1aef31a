package mcpserver_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/mcpserver"
	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/mcptest"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// A client that does not read what it is told of its call makes neither the tool wait, nor what
// else comes by the connection that its progress comes by.
func TestClientThatDoesNotRead(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	reported := make(chan struct{})
	chatty := echo("t.chatty")
	chatty.Handler = func(ctx context.Context, _ tool.Call) (tool.Result, error) {
		for i := range 1000 {
			tool.Report(ctx, tool.Progress{Done: float64(i + 1), Message: strings.Repeat("x", 4000)})
		}
		close(reported)
		return tool.Text("done"), nil
	}
	require.NoError(t, h.Register(chatty))
	to, _, _ := rawClient(t, serve(t, h, mcpserver.Options{}))
	require.Must(to.WriteString(hello + `{"jsonrpc":"2.0","id":1,"method":"tools/call",` +
		`"params":{"name":"t_chatty","arguments":{},"_meta":{"progressToken":"p"}}}` + "\n"))(t)
	select {
	case <-reported:
	case <-time.After(ceiling):
		t.Error("the tool waits for the client")
	}
}

// What a client says of itself is kept as long as its session, so it is bounded.
func TestClientsThatSayMuch(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	var clients []mcpserver.Client
	front := httptest.NewServer(serve(t, h, mcpserver.Options{
		Session: func(_ context.Context, c mcpserver.Client) (*host.Session, error) {
			clients = append(clients, c)
			return h.Session(), nil
		},
	}).Handler())
	t.Cleanup(front.Close)
	begin := func(from, to string) string {
		req := require.Must(http.NewRequestWithContext(t.Context(), http.MethodPost, front.URL,
			strings.NewReader(strings.Replace(strings.SplitAfter(hello, "\n")[0], from, to, 1))))(t)
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", "application/json, text/event-stream")
		res, err := http.DefaultClient.Do(req)
		require.NoError(t, err)
		defer func() { _ = res.Body.Close() }()
		return readAll(t, res.Body)
	}
	assert.Containsf(t, begin(`"raw"`, `"`+strings.Repeat("n", 10_000)+`"`), `"result"`, "a long name")
	if len(clients) != 1 || len(clients[0].Name) > 300 || !strings.HasPrefix(clients[0].Name, "nnn") {
		t.Errorf("the clients are %.500v", clients)
	}
	for what, with := range map[string][2]string{
		"name":         {`"raw"`, `"` + strings.Repeat("n", 100_000) + `"`},
		"capabilities": {`"capabilities":{}`, `"capabilities":{"experimental":{"x":{"y":"` + strings.Repeat("n", 100_000) + `"}}}`},
	} {
		assert.Containsf(t, begin(with[0], with[1]), "more of itself than 65536 bytes", "%s", what)
	}
}

// A caller without the grant for any of a server's tools has nothing of what the server has
// besides tools.
func TestPassThroughNeedsTheGrant(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	up := mounted(t, h, mcptest.Everything)
	needs := tool.Capability("fs:write")
	rules := map[string]host.Override{}
	for _, one := range h.Tools(host.Filter{}) {
		rules[one.Name] = host.Override{Permission: &needs}
	}
	require.NoError(t, h.Reconfigure(host.WithOverrides(rules)))
	read := func(grants ...tool.Capability) error {
		c := ways[0].connect(t, serve(t, h, mcpserver.Options{Upstreams: up}, host.WithGrants(grants...)), nil)
		_, err := c.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "test://static-text"})
		return err
	}
	if err := read(needs); err != nil {
		t.Errorf("with the grant: %v", err)
	}
	if err := read(); err == nil {
		t.Error("a caller without the grant reads a resource")
	}
	if !slices.ContainsFunc(h.Tools(host.Filter{}), func(one host.Tool) bool { return one.Permission == needs }) {
		t.Error("no tool needs the grant")
	}
}
