package mcpserver_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.opentelemetry.io/otel/trace"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/mcpserver"
	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/fixture"
	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/mcptest"
	"github.com/toolhost/toolhost/internal/test/plugintest"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

func TestMain(m *testing.M) {
	switch os.Getenv(mountedVariable) {
	case "":
	case plainServer:
		servePlainly()
		return
	case asksRoots:
		_ = rootsServer().Run(context.Background(), &mcp.StdioTransport{})
		return
	case bySession:
		_ = sessionServer().Run(context.Background(), &mcp.StdioTransport{})
		return
	default:
		_ = mcptest.Server().Run(context.Background(), &mcp.StdioTransport{})
		return
	}
	plugintest.Main(m, map[plugintest.Mode]func(){reporter: report})
}

// mountedVariable makes the test's binary an MCP server.
const mountedVariable = "TOOLHOST_TEST_MOUNTED"

// reporter is a plugin whose tools tell of themselves.
const reporter plugintest.Mode = "reporter"

func report() {
	handle := func(name, input string, h tool.Handler) tool.Tool {
		return tool.Tool{Handler: h, Definition: tool.Definition{
			Name: name, Description: "Reports.", Safety: tool.Safe, InputSchema: tool.Schema(input),
		}}
	}
	plugin := pluginsdk.Plugin{Tools: append(fixture.Tools(),
		handle("r.progress", "", func(ctx context.Context, _ tool.Call) (tool.Result, error) {
			for _, done := range []float64{1, 2, 2, 1, 3} {
				tool.Report(ctx, tool.Progress{Done: done, Total: 3, Message: "at it"})
			}
			return tool.Text("done"), nil
		}),
		handle("r.log", "", func(ctx context.Context, _ tool.Call) (tool.Result, error) {
			tool.Log(ctx, slog.LevelDebug, "too low")
			tool.Log(ctx, slog.LevelWarn, "high enough", "n", 1)
			return tool.Text("done"), nil
		}),
		handle("r.trace", "", func(ctx context.Context, _ tool.Call) (tool.Result, error) {
			t, c := tool.TraceFrom(ctx), trace.SpanContextFromContext(ctx)
			return tool.Text(fmt.Sprint(t.Parent, " ", t.State, " ", c.TraceID(), c.SpanID(), c.TraceFlags(), c.IsRemote())), nil
		}),
		annotated(),
	)}
	plugin.Main()
}

// loaded is a host with a plugin of each mode.
func loaded(t testing.TB, modes ...plugintest.Mode) *host.Host {
	t.Helper()
	dir := plugintest.Dir(t, modes...)
	h := newHost(t)
	require.Must(h.Load(context.Background(), dir))(t)
	return h
}

// ceiling bounds what should take milliseconds, on a machine that is busy.
const ceiling = require.Ceiling

func newHost(t testing.TB, opts ...host.Option) *host.Host {
	t.Helper()
	h, err := host.New(append([]host.Option{host.WithRoot(t.TempDir()), host.WithDefaults(func(all *plugin.Settings) {
		all.StartTimeout = ceiling
		all.CallTimeout = time.Hour
	})}, opts...)...)
	require.NoError(t, err)
	t.Cleanup(func() {
		if err := h.Close(context.Background()); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return h
}

// serve returns a server of the host, whose sessions have the options.
func serve(t testing.TB, h *host.Host, o mcpserver.Options, opts ...host.SessionOption) *mcpserver.Server {
	t.Helper()
	if o.Session == nil {
		o.Session = func(context.Context, mcpserver.Client) (*host.Session, error) { return h.Session(opts...), nil }
	}
	s := require.Must(mcpserver.New(h, o))(t)
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// way is how a client reaches a server.
type way struct {
	name, version string
	http          bool
	memory        bool // its connections are in memory
}

var ways = []way{
	{name: "stdio 2026", version: "2026-07-28"}, {name: "stdio 2025-11", version: "2025-11-25"}, {name: "stdio 2025-03", version: "2025-03-26"},
	{name: "http 2026", version: "2026-07-28", http: true}, {name: "http 2025-11", version: "2025-11-25", http: true}, {name: "http 2025-03", version: "2025-03-26", http: true},
}

// connect returns a client of the server.
func (w way) connect(t testing.TB, s *mcpserver.Server, o *mcp.ClientOptions, name ...string) *mcp.ClientSession {
	t.Helper()
	return w.reach(t, s.Handler(), s.Run, o, name...)
}

// reach returns a client of a server that has a handler, and runs on a transport.
func (w way) reach(
	t testing.TB, handler http.Handler, run func(context.Context, mcp.Transport) error, o *mcp.ClientOptions, name ...string,
) *mcp.ClientSession {
	t.Helper()
	if w.http && w.memory {
		by := &mcp.StreamableClientTransport{Endpoint: "http://memory", HTTPClient: frontInMemory(t, handler)}
		return w.connectBy(t, by, o, name...)
	}
	if w.http {
		front := httptest.NewServer(handler)
		t.Cleanup(front.Close)
		t.Cleanup(front.CloseClientConnections)
		return w.connectBy(t, &mcp.StreamableClientTransport{Endpoint: front.URL}, o, name...)
	}
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	theirs, ours, _ := pipes()
	if w.memory {
		client, server := net.Pipe()
		theirs, ours = &mcp.IOTransport{Reader: client, Writer: client}, &mcp.IOTransport{Reader: server, Writer: server}
	}
	go func() { _ = run(ctx, ours) }()
	return w.connectBy(t, theirs, o, name...)
}

// connectBy returns a client that a transport leads to its server.
func (w way) connectBy(t testing.TB, by mcp.Transport, o *mcp.ClientOptions, name ...string) *mcp.ClientSession {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	c, err := mcp.NewClient(&mcp.Implementation{Name: strings.Join(append(name, "tester")[:1], ""), Version: "1"}, o).
		Connect(ctx, by, &mcp.ClientSessionOptions{ProtocolVersion: w.version})
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// everyWayInTime is everyWay in bubbles of testing/synctest, whose time is not the real one.
func everyWayInTime(t *testing.T, f func(*testing.T, way)) {
	t.Helper()
	everyWay(t, func(t *testing.T, w way) {
		w.memory = true
		synctest.Test(t, func(t *testing.T) { f(t, w) })
	})
}

// everyWay runs a test for each way to reach a server.
func everyWay(t *testing.T, f func(*testing.T, way)) {
	t.Helper()
	for _, w := range ways {
		t.Run(w.name, func(t *testing.T) { t.Parallel(); f(t, w) })
	}
}

func call(t testing.TB, c *mcp.ClientSession, name, args string) *mcp.CallToolResult {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), ceiling)
	defer cancel()
	res, err := c.CallTool(ctx, &mcp.CallToolParams{Name: name, Arguments: json.RawMessage(args)})
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return res
}

func text(r *mcp.CallToolResult) string {
	var out []string
	for _, c := range r.Content {
		if tc, ok := c.(*mcp.TextContent); ok {
			out = append(out, tc.Text)
		}
	}
	return strings.Join(out, "\n")
}

func names(t testing.TB, c *mcp.ClientSession) (out []string) {
	t.Helper()
	for tl, err := range c.Tools(context.Background(), nil) {
		require.NoError(t, err)
		out = append(out, tl.Name)
	}
	return out
}

// wantCode fails the test unless err is an error of the protocol with that code.
func wantCode(t testing.TB, err error, code int64) {
	t.Helper()
	var e *jsonrpc.Error
	if !asError(err, &e) || e.Code != code {
		t.Errorf("got %v, want an error with the code %d", err, code)
	}
}

func echo(name string, change ...func(*tool.Definition)) tool.Tool {
	t := tool.Tool{
		Definition: tool.Definition{
			Name: name, Description: "Answers with its arguments.", Safety: tool.Safe,
			InputSchema: tool.Schema(`{"type":"object","x-unknown":[9007199254740993],"properties":{}}`),
		},
		Handler: func(_ context.Context, call tool.Call) (tool.Result, error) {
			return tool.Text(name + ":" + string(call.Arguments)), nil
		},
	}
	for _, f := range change {
		f(&t.Definition)
	}
	return t
}

func TestCallsOfAPlugin(t *testing.T) {
	t.Parallel()
	everyWay(t, func(t *testing.T, w way) {
		h := loaded(t, plugintest.Fixture)
		c := w.connect(t, serve(t, h, mcpserver.Options{}), nil)
		if got := names(t, c); !slices.Contains(got, "test_echo") || !slices.IsSorted(got) {
			t.Errorf("the client sees %v", got)
		}
		res := call(t, c, "test_echo", `{"n":9007199254740993}`)
		if got := text(res); got != `{"n":9007199254740993}` || res.IsError {
			t.Errorf("echo: %q", got)
		}
		assert.Equalf(t, text(call(t, c, fixture.EchoTool, `{}`)), `{}`, "echo by its name")
		res = call(t, c, "test_coded", `{"code":"rate_limited"}`)
		if got := text(res); !res.IsError || !strings.Contains(got, "ask for something else") || !strings.HasSuffix(got, "[rate_limited]") {
			t.Errorf("an error of the host: %q", got)
		}
		if res = call(t, c, "test_fail", `{}`); !res.IsError || text(res) != "failed as asked" {
			t.Errorf("the tool's own failure: %+v", res)
		}
		if res = call(t, c, "test_coded", `{"code":7}`); !res.IsError || !strings.HasPrefix(text(res), "Invalid tool call: ") {
			t.Errorf("invalid arguments: %q", text(res))
		}
		_, err := c.CallTool(context.Background(), &mcp.CallToolParams{Name: "nothing"})
		wantCode(t, err, jsonrpc.CodeInvalidParams)
		_, err = c.CallTool(context.Background(), &mcp.CallToolParams{Name: "test_echo", Arguments: []int{1}})
		wantCode(t, err, jsonrpc.CodeInvalidParams)

		res = call(t, c, "test_content", `{}`)
		kinds := ""
		for _, b := range res.Content {
			kinds += fmt.Sprintf("%T ", b)
		}
		if want := "*mcp.TextContent *mcp.ImageContent *mcp.AudioContent *mcp.EmbeddedResource *mcp.EmbeddedResource *mcp.ResourceLink "; kinds != want {
			t.Errorf("content: %s", kinds)
		}
		if got, _ := json.Marshal(res.StructuredContent); string(got) != `{"answer":[42,null,"x"]}` {
			t.Errorf("structured: %s", got)
		}
	})
}

func TestPages(t *testing.T) {
	t.Parallel()
	everyWay(t, func(t *testing.T, w way) {
		h := newHost(t)
		for i := range 7 {
			require.NoError(t, h.Register(echo(fmt.Sprintf("t.%d", i))))
		}
		s := serve(t, h, mcpserver.Options{PageSize: 3, CanonicalNames: func(*host.Session) bool { return true }})
		c := w.connect(t, s, nil)
		assert.Equalf(t, fmt.Sprint(names(t, c)), "[t.0 t.1 t.2 t.3 t.4 t.5 t.6]", "names")
		page, err := c.ListTools(context.Background(), nil)
		if err != nil || len(page.Tools) != 3 || page.NextCursor == "" {
			t.Fatalf("page: %+v, %v", page, err)
		}
		if page.CacheScope != "private" || page.TTLMs <= 0 {
			t.Errorf("cache: %+v", page.Cacheable)
		}
		for _, cursor := range []string{"x", "dDow", "!"} {
			_, err = c.ListTools(context.Background(), &mcp.ListToolsParams{Cursor: cursor})
			wantCode(t, err, jsonrpc.CodeInvalidParams)
		}
	})
}

// raw posts a request of the stateless revision and returns the body.
func raw(t *testing.T, url, method, name, params string, header map[string]string) (int, string) {
	t.Helper()
	return rawWith(t, url, method, name, params, header, strings.NewReplacer())
}

func rawWith(
	t *testing.T, url, method, name, params string, header map[string]string, change *strings.Replacer,
) (int, string) {
	t.Helper()
	return rawBy(t, http.DefaultClient, url, method, name, params, header, change)
}

func rawBy(
	t *testing.T, by *http.Client, url, method, name, params string, header map[string]string, change *strings.Replacer,
) (int, string) {
	t.Helper()
	body := `{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":{"_meta":{` +
		`"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}` + params + `}}`
	body = change.Replace(body)
	req, err := http.NewRequestWithContext(context.Background(), http.MethodPost, url, strings.NewReader(body))
	require.NoError(t, err)
	for k, v := range map[string]string{
		"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
		"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": method,
	} {
		req.Header.Set(k, v)
	}
	if name != "" {
		req.Header.Set("Mcp-Name", name)
	}
	for k, v := range header {
		req.Header.Set(k, v)
	}
	res, err := by.Do(req)
	require.NoError(t, err)
	defer func() { _ = res.Body.Close() }()
	return res.StatusCode, readAll(t, res.Body)
}

func TestSchemasAreVerbatim(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	if err := h.Register(echo("t.a", func(d *tool.Definition) { d.OutputSchema = tool.Schema(`{"type":"array","x-more":{"b":1,"a":2}}`) })); err != nil {
		t.Fatal(err)
	}
	front := httptest.NewServer(serve(t, h, mcpserver.Options{}).Handler())
	t.Cleanup(front.Close)
	_, body := raw(t, front.URL, "tools/list", "", "", nil)
	for _, want := range []string{
		`"inputSchema":{"type":"object","x-unknown":[9007199254740993],"properties":{}}`,
		`"outputSchema":{"type":"array","x-more":{"b":1,"a":2}}`,
		`"readOnlyHint":true`, `"resultType":"complete"`, `"ttlMs":1000,"cacheScope":"private"`,
	} {
		assert.Containsf(t, body, want, "the list has no %s", want)
	}
}

// Arguments that travel in headers too are compared, and keywords for it that the SDK panics on
// are left out.
func TestHeadersOfArguments(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	with := func(schema string) func(*tool.Definition) {
		return func(d *tool.Definition) { d.InputSchema = tool.Schema(schema) }
	}
	for name, schema := range map[string]string{
		"good":  `{"type":"object","properties":{"r":{"type":"string","x-mcp-header":"Region"}}}`,
		"space": `{"type":"object","properties":{"r":{"type":"string","x-mcp-header":"a b"}}}`,
		"typed": `{"type":"object","properties":{"r":{"type":"number","x-mcp-header":"R"},"s":{"const":1.50}}}`,
		"twice": `{"type":"object","properties":{"r":{"type":"string","x-mcp-header":"R"},"q":{"type":"string","x-mcp-header":"r"}}}`,
		"empty": `{"type":"object","properties":{"r":{"type":"object","properties":{"q":{"type":"string","x-mcp-header":""}}}}}`,
		"lists": `{"type":"object","properties":{"r":{"type":["string"],"x-mcp-header":"R"}}}`,
		"cased": `{"type":"object","properties":{"r":{"type":"object","Type":"string","x-mcp-header":"R"}}}`,
		"named": `{"type":"object","properties":{"r":{"type":"string","x-mcp-header":"a b","X-MCP-Header":"R"}}}`,
		"coded": `{"type":"object","properties":{"r":{"type":"string","x-mcp-header":"R"},"q":{"type":"string","x-mcp\u002dheader":"a b"}}}`,
	} {
		if err := h.Register(echo(name, with(schema))); err != nil {
			t.Fatal(name, err)
		}
	}
	front := httptest.NewServer(serve(t, h, mcpserver.Options{}).Handler())
	t.Cleanup(front.Close)
	_, body := raw(t, front.URL, "tools/list", "", "", nil)
	if n := strings.Count(body, "x-mcp-header"); n != 1 || !strings.Contains(body, `{"const":1.50}`) || strings.Contains(body, `\u002d`) {
		t.Errorf("the list has %d header keywords:\n%s", n, body)
	}
	args := `,"name":"good","arguments":{"r":"eu"}`
	if code, body := raw(t, front.URL, "tools/call", "good", args, nil); code != http.StatusBadRequest {
		t.Errorf("a call without the header: %d %s", code, body)
	}
	if code, body := raw(t, front.URL, "tools/call", "good", args, map[string]string{"Mcp-Param-Region": "eu"}); code != 200 ||
		!strings.Contains(body, `good:`) {
		t.Errorf("a call with the header: %d %s", code, body)
	}
}

func TestOnlyWhatACallerMayCall(t *testing.T) {
	t.Parallel()
	everyWay(t, func(t *testing.T, w way) {
		h := newHost(t)
		for _, tl := range []tool.Tool{
			echo("t.open"), echo("t.hidden"), echo("t.held", func(d *tool.Definition) { d.Permission = "fs:read" }),
			echo("t.kept", func(d *tool.Definition) { d.Permission = "fs:write" }),
		} {
			require.NoError(t, h.Register(tl))
		}
		s := serve(t, h, mcpserver.Options{}, host.WithGrants("fs:read"),
			host.WithVisible(func(d tool.Definition) bool { return d.Name != "t.hidden" }))
		c := w.connect(t, s, nil)
		assert.Equalf(t, fmt.Sprint(names(t, c)), "[t_held t_open]", "the client sees")
		_, err := c.CallTool(context.Background(), &mcp.CallToolParams{Name: "t.hidden"})
		wantCode(t, err, jsonrpc.CodeInvalidParams)
		if res := call(t, c, "t.kept", `{}`); !strings.HasPrefix(text(res), "Permission denied for tool: t.kept") {
			t.Errorf("a call without the grant: %q", text(res))
		}
	})
}
