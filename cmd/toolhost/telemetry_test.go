package main

import (
	"context"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/config"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/telemetry"
	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/mcpclient"
	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/internal/callctx"
	"github.com/toolhost/toolhost/internal/test/mcptest"
	"github.com/toolhost/toolhost/internal/test/otlptest"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

const (
	clientTrace = "0af7651916cd43dd8448eb211c80319c"
	clientSpan  = "b7ad6b7169203331"
	clientsOwn  = "00-" + clientTrace + "-" + clientSpan + "-01"
)

// One trace leads from an MCP client through a host, and the host that it calls, to a plugin.
func TestOneTrace(t *testing.T) {
	t.Parallel()
	c := otlptest.New(t, "secret-1")
	telemetry := fmt.Sprintf("telemetry: {endpoint: '%s', headers: {X-Key: {from_env: COLLECTOR_KEY}}}", c.URL)
	a, b := newWorld(t, "player"), newWorld(t)
	for _, w := range []*world{a, b} {
		w.env = append(w.env, "COLLECTOR_KEY=secret-1", "OTEL_SERVICE_NAME="+map[*world]string{a: "host-a", b: "host-b"}[w])
	}
	b.sharesKey(a)
	a.configure(telemetry, "nats: {share: [play.*, srv.*]}", "mcp_servers: {srv: {command: "+filepath.Join(built.dir, "mcpserver")+", args: [trace]}}",
		"tools: {srv.trace: {safety: safe}}")
	one := a.serve("--nats", "embedded:0", "--name", "a")
	b.configure(telemetry, "nats: {mount: [play.*, srv.*]}", "callers: {tess: {}}")
	f := b.serveMCP("--nats", one.server(), "--name", "b")
	b.until("the tools are mounted", func() bool { return b.knows("play.trace") && b.knows("srv.trace") })
	client := f.connect(b.token("tess"), nil)

	params := &mcp.CallToolParams{Name: "play_trace"}
	params.SetMeta(map[string]any{"traceparent": clientsOwn, "tracestate": "a=b"})
	res := require.Must(client.CallTool(t.Context(), params))(t)
	seen := strings.Fields(res.Content[0].(*mcp.TextContent).Text) //nolint:forcetypeassert // else the test fails
	var calls []*tracepb.Span
	var below map[string][]string
	b.until("both hosts have sent their spans", func() bool {
		calls, below = c.Of(clientTrace)
		return len(calls) == 2
	})
	if otlptest.Attribute(calls[0], "toolhost.via") != "mcp" {
		slices.Reverse(calls)
	}
	first, second := hex.EncodeToString(calls[0].GetSpanId()), hex.EncodeToString(calls[1].GetSpanId())
	equal(t, "the client's span", hex.EncodeToString(calls[0].GetParentSpanId()), clientSpan)
	equal(t, "the span of the first host", hex.EncodeToString(calls[1].GetParentSpanId()), first)
	equalLists(t, "what the plugin finds", seen, []string{clientTrace, second})
	equal(t, "the first name", calls[0].GetName(), "tools/call play.trace")
	equal(t, "the second name", calls[1].GetName(), "execute_tool play.trace")
	for i, s := range calls {
		if got := below[hex.EncodeToString(s.GetSpanId())]; !slices.Contains(got, "ran") || s.GetKind() != tracepb.Span_SPAN_KIND_SERVER || s.GetTraceState() != "a=b" {
			t.Errorf("span %d has %q below it: %v", i, got, s)
		}
	}
	equal(t, "the caller", otlptest.Attribute(calls[0], "toolhost.caller")+otlptest.Attribute(calls[0], "toolhost.client"), "tesstester 7")
	equal(t, "the plugin", otlptest.Attribute(calls[1], "toolhost.plugin"), "player")
	for _, w := range []*world{a, b} {
		w.run("audit", "--tool", "play.trace", "--json").exits(0).prints(`"trace":"` + clientTrace + `"`)
	}
	one.await("trace=" + clientTrace)

	// So it is with a mounted server.
	params = &mcp.CallToolParams{Name: "srv_trace"}
	params.SetMeta(map[string]any{"traceparent": strings.Replace(clientsOwn, "0af", "3af", 1)})
	res = require.Must(client.CallTool(t.Context(), params))(t)
	b.until("both hosts have sent their spans", func() bool {
		calls, _ = c.Of("3" + clientTrace[1:])
		return len(calls) == 2
	})
	if otlptest.Attribute(calls[0], "toolhost.via") != "mcp" {
		slices.Reverse(calls)
	}
	equal(t, "the span of the first host", hex.EncodeToString(calls[1].GetParentSpanId()), hex.EncodeToString(calls[0].GetSpanId()))
	equal(t, "what the server finds", res.Content[0].(*mcp.TextContent).Text, //nolint:forcetypeassert // else the test fails
		fmt.Sprintf("00-3%s-%x-01", clientTrace[1:], calls[1].GetSpanId()))
	b.until("the metrics have what was sent", func() bool {
		return strings.Contains(b.over("/metrics"), `toolhost_traced_calls_total{result="sent"} 2`)
	})
	equalLists(t, "the services", c.Services(), []string{"host-a", "host-b"})

	// What has no "_meta" may have a header, a command its environment, and what has none begins a trace.
	header := header{"Authorization": "Bearer " + b.token("tess"), "Traceparent": strings.Replace(clientsOwn, "0af", "1af", 1)}
	for name, value := range map[string]string{"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "play_trace"} {
		header[name] = value
	}
	f.ask(http.MethodPost, "/mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"play_trace","_meta":{`+
		`"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"x","version":"1"},`+
		`"io.modelcontextprotocol/clientCapabilities":{}}}}`, header)
	a.env = append(a.env, "TRACEPARENT="+strings.Replace(clientsOwn, "0af", "2af", 1))
	a.run("call", "play.trace").exits(0).prints("2" + clientTrace[1:])
	a.run("call", "play.trace", "--no-daemon").exits(0).prints("2" + clientTrace[1:])
	if o := b.run("call", "play.trace").exits(0); strings.Contains(o.stdout, "00000000") || strings.Contains(o.stdout, "af7651") {
		t.Errorf("a call without a trace: %s", o.stdout)
	}
	b.until("the spans are there", func() bool {
		byHeader, _ := c.Of("1" + clientTrace[1:])
		byEnv, _ := c.Of("2" + clientTrace[1:])
		return len(byHeader) == 2 && len(byEnv) == 2
	})
}

// A call that a function makes is below the function's, and its own span is what a plugin, or a mounted server, finds.
func TestTraceOfNestedCalls(t *testing.T) {
	t.Parallel()
	c, w := otlptest.New(t, "secret-1"), newWorld(t, "player")
	x := telemetry.New(config.Telemetry{Endpoint: config.Address(c.URL), Headers: config.Environment{config.Value("X-Key", "secret-1")}, SlowerThan: time.Hour},
		func(string) (string, bool) { return "", false }, hclog.NewNullLogger())
	h := require.Must(host.New(host.WithRoot(w.root), host.WithHooks(x.Hooks(policy.Hooks{}))))(t)
	t.Cleanup(func() { _ = h.Close(context.Background()) })
	require.Must(h.Load(t.Context(), w.plugins))(t)
	upstream := require.Must(mcpclient.New(mcpclient.Config{
		Name: "srv", Command: filepath.Join(built.dir, "mcpserver"), Args: []string{"trace"}, Safety: func(string) tool.Safety { return tool.Safe },
	}))(t)
	require.Must(h.Mount(t.Context(), plugin.Server{Name: "srv", Connector: upstream, Identity: "srv", Settings: plugin.DefaultSettings()}))(t)
	s := h.Session(host.WithCaller(host.Caller{Name: "tess", Via: "mcp"}))
	found := map[string]string{}
	require.NoError(t, h.Register(tool.Tool{Definition: tool.Definition{Name: "both", Description: "Calls both.", Safety: tool.Safe},
		Handler: func(ctx context.Context, _ tool.Call) (tool.Result, error) {
			for _, name := range []string{"play.trace", "srv.trace"} {
				res, err := s.Execute(ctx, tool.Call{Name: name})
				if err != nil {
					return res, err
				}
				found[name] = res.Text()
			}
			return tool.Text("done"), nil
		}}))
	ctx := context.WithValue(t.Context(), callctx.Trace{}, &tool.Trace{Parent: clientsOwn})
	require.Must(s.Execute(ctx, tool.Call{Name: "both"}))(t)
	require.NoError(t, h.Close(t.Context()))
	x.Close()
	calls, below := c.Of(clientTrace)
	spans := map[string]*tracepb.Span{}
	for _, one := range calls {
		spans[one.GetName()] = one
	}
	outer, play, srv := spans["tools/call both"], spans["execute_tool play.trace"], spans["execute_tool srv.trace"]
	equal(t, "the spans", len(calls), 3)
	equal(t, "the parents", fmt.Sprintf("%x %x %x", outer.GetParentSpanId(), play.GetParentSpanId(), srv.GetParentSpanId()),
		fmt.Sprintf("%s %x %x", clientSpan, outer.GetSpanId(), outer.GetSpanId()))
	equal(t, "the kinds", fmt.Sprint(outer.GetKind(), play.GetKind(), srv.GetKind()), "SPAN_KIND_SERVER SPAN_KIND_INTERNAL SPAN_KIND_INTERNAL")
	equal(t, "what the plugin finds", found["play.trace"], fmt.Sprintf("%s %x", clientTrace, play.GetSpanId()))
	equal(t, "what the server finds", found["srv.trace"], fmt.Sprintf("00-%s-%x-01", clientTrace, srv.GetSpanId()))
	for _, one := range calls {
		if !slices.Contains(below[hex.EncodeToString(one.GetSpanId())], "ran") {
			t.Errorf("%s has no span of its work", one.GetName())
		}
	}
}

// A collector that is down or hostile changes no call; it is told once.
func TestCollectorThatFails(t *testing.T) {
	t.Parallel()
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("it was led elsewhere") }))
	t.Cleanup(elsewhere.Close)
	for name, by := range map[string]struct {
		handler http.HandlerFunc
		says    string
	}{
		"down": {nil, "connection refused"},
		"broken": {func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusInternalServerError)
			_, _ = io.WriteString(w, "\x1b[31mred \u202e")
		}, `500 Internal Server Error (body: \x1b[31mred \u202e`},
		"large": {func(w http.ResponseWriter, _ *http.Request) {
			for range 100 {
				_, _ = w.Write(make([]byte, 1<<20))
			}
		}, "response body too large"},
		"elsewhere": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, elsewhere.URL, http.StatusTemporaryRedirect)
		}, "which is not followed"},
		"silent": {func(_ http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body) // so that the end of the request is noticed
			<-r.Context().Done()
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, "player")
			var url string
			if by.handler == nil {
				url = fmt.Sprintf("http://127.0.0.1:%d", mcptest.FreePort(t))
			} else {
				s := httptest.NewServer(by.handler)
				t.Cleanup(s.Close)
				url = s.URL
			}
			w.env = append(w.env, "OTEL_EXPORTER_OTLP_ENDPOINT="+url)
			w.configure()
			d := w.serve()
			began := time.Now()
			for range 3 {
				w.run("call", "play.echo").exits(0)
			}
			if by.says != "" {
				d.await("the collector does not take traces")
				w.run("call", "play.echo").exits(0)
				if text := w.over("/metrics"); strings.Contains(text, `traced_calls_total{result="failed"} 0`) || !strings.Contains(text, `traced_calls_total{result="sent"} 0`) {
					t.Errorf("the metrics are\n%s", text)
				}
				w.run("status").exits(1).prints("traces do not arrive at "+url, by.says)
				w.run("doctor").exits(1).prints("telemetry", by.says)
			}
			d.ends(syscall.SIGTERM, 0)
			if n := strings.Count(strings.Join(d.said, "\n"), "does not take traces"); n > 1 || by.says != "" && n == 0 {
				t.Errorf("it is told %d times:\n%s", n, strings.Join(d.said, "\n"))
			}
			if took := time.Since(began); took > require.Ceiling {
				t.Errorf("it took %v", took)
			}
		})
	}
}
