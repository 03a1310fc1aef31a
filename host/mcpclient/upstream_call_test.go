package mcpclient

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolhost/toolhost/host/internal/mcpwire"
	"github.com/toolhost/toolhost/internal/callctx"
	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// busyServer has a tool for each thing that a call may do.
type busyServer struct {
	*mcp.Server
	canceled chan struct{}
	started  chan struct{}
	traces   chan any
}

func newBusyServer() *busyServer {
	b := &busyServer{
		Server:   mcp.NewServer(&mcp.Implementation{Name: "busy", Version: "1"}, nil),
		canceled: make(chan struct{}, 10), started: make(chan struct{}, 100), traces: make(chan any, 10),
	}
	object := json.RawMessage(`{"type":"object"}`)
	add := func(name string, f mcp.ToolHandler) {
		b.AddTool(&mcp.Tool{Name: name, Description: name, InputSchema: object}, f)
	}
	text := func(format string, args ...any) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: fmt.Sprintf(format, args...)}}}, nil
	}
	add("echo", func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		b.traces <- r.Params.Meta["traceparent"]
		return text("%s", r.Params.Arguments)
	})
	add("fail", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		out, _ := text("it broke")
		out.IsError = true
		return out, nil
	})
	add("refuse", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return nil, &jsonrpc.Error{Code: -32602, Message: "no such x"}
	})
	add("break", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return nil, &jsonrpc.Error{Code: -32603, Message: "out of order"}
	})
	add("page", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return nil, &jsonrpc.Error{Code: mcp.CodeURLElicitationRequired, Message: "log in", Data: json.RawMessage(
			`{"elicitations":[{"mode":"url","url":"https://example.com/a"},{"mode":"url","url":"javascript:x"}]}`)}
	})
	add("progress", func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		for _, n := range []float64{1, 3, 2, 3, 4} {
			_ = r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{
				ProgressToken: r.Params.GetProgressToken(), Progress: n, Total: 4, Message: "step",
			})
		}
		return text("done")
	})
	add("wait", func(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		b.started <- struct{}{}
		<-ctx.Done()
		b.canceled <- struct{}{}
		return nil, ctx.Err()
	})
	add("log", func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		_ = r.Session.Log(ctx, &mcp.LoggingMessageParams{Level: "warning", Logger: "lg", Data: "look out"})
		return text("done")
	})
	schema := json.RawMessage(`{"type":"object","properties":{"z":{"type":"string"},"a":{"type":"string"}}}`)
	add("ask", func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		in := struct{ Message string }{"which?"}
		_ = json.Unmarshal(r.Params.Arguments, &in)
		return b.asking(r, map[string]mcp.InputRequest{
			"q": &mcp.ElicitParams{Message: in.Message, RequestedSchema: schema},
		}, text)
	})
	add("askAll", func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return b.asking(r, map[string]mcp.InputRequest{
			"q": &mcp.ElicitParams{Mode: "url", Message: "go", URL: "https://example.com", ElicitationID: "1"},
			"m": &mcp.CreateMessageWithToolsParams{MaxTokens: 5, Messages: []*mcp.SamplingMessageV2{
				{Role: "user", Content: []mcp.Content{&mcp.TextContent{Text: "think"}}},
			}},
			"r": &mcp.ListRootsParams{},
		}, text)
	})
	return b
}

// asking asks, and returns the answers as text. The SDK asks old clients by requests.
func (b *busyServer) asking(
	r *mcp.CallToolRequest, all map[string]mcp.InputRequest, text func(string, ...any) (*mcp.CallToolResult, error),
) (*mcp.CallToolResult, error) {
	if r.Params.InputResponses == nil {
		b.started <- struct{}{}
		return &mcp.CallToolResult{InputRequests: all, RequestState: "state"}, nil
	}
	if r.Params.RequestState != "state" {
		return nil, errors.New("the state is lost")
	}
	out, err := json.Marshal(r.Params.InputResponses)
	if err != nil {
		return nil, err
	}
	return text("%s", out)
}

// onHTTPServer connects an upstream to a server over HTTP.
func onHTTPServer(t testing.TB, handler http.Handler, change func(*Config)) (*link, *watched, *httptest.Server) {
	t.Helper()
	web := httptest.NewServer(handler)
	t.Cleanup(func() {
		web.CloseClientConnections()
		web.Close()
	})
	u := upstream(t, func(c *Config) {
		c.Command, c.URL = "", web.URL
		change(c)
	})
	w := newWatched()
	conn := require.Must(u.Connect(within(t), nil, w.events()))(t)
	t.Cleanup(func() { _ = conn.Close(within(t)) })
	return conn.(*link), w, web
}

// everyWay runs a test over each transport and era.
func everyWay(t *testing.T, f func(t *testing.T, l *link, w *watched, s *busyServer, way string)) {
	t.Helper()
	for era, version := range eras {
		t.Run("stdio "+era, func(t *testing.T) {
			t.Parallel()
			s := newBusyServer()
			l, w := mount(t, upstream(t, func(c *Config) { c.Version = version }), s.Server)
			f(t, l, w, s, "stdio "+era)
		})
		t.Run("http "+era, func(t *testing.T) {
			t.Parallel()
			s := newBusyServer()
			h := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s.Server },
				&mcp.StreamableHTTPOptions{Stateless: version == "", PropagateRequestCancellation: true})
			l, w, _ := onHTTPServer(t, h, func(c *Config) { c.Version = version })
			f(t, l, w, s, "http "+era)
		})
	}
	t.Run("sse", func(t *testing.T) {
		t.Parallel()
		s := newBusyServer()
		h := mcp.NewSSEHandler(func(*http.Request) *mcp.Server { return s.Server }, nil)
		l, w, _ := onHTTPServer(t, h, func(c *Config) { c.Transport = transportSSE })
		f(t, l, w, s, "sse")
	})
}

// TestCalls makes a call of each kind, over each transport and in both eras.
func TestCalls(t *testing.T) {
	t.Parallel()
	everyWay(t, func(t *testing.T, l *link, w *watched, s *busyServer, _ string) {
		ctx := within(t)
		traced := context.WithValue(ctx, callctx.Trace{}, &tool.Trace{Parent: "00-a-b-01"})
		assert.Equalf(t, execute(t, l, traced, "srv.echo", `{"n":9007199254740993}`).Text(), `{"n":9007199254740993}`, "echo")
		assert.Equalf(t, await(t, s.traces, w), "00-a-b-01", "trace")
		if res := execute(t, l, ctx, "srv.fail", ``); !res.IsError || res.Text() != "it broke" {
			t.Errorf("%+v", res)
		}
		for name, code := range map[string]tool.Code{
			"srv.refuse": tool.CodeInvalidArguments, "srv.break": tool.CodeToolFailed, "srv.none": tool.CodeNotFound,
		} {
			if _, err := l.Execute(ctx, tool.Call{Name: name}); tool.CodeOf(err) != code {
				t.Errorf("%s: %v", name, err)
			}
		}
		_, err := l.Execute(ctx, tool.Call{Name: "srv.page"})
		if tool.CodeOf(err) != tool.CodeUnsupported || !strings.Contains(err.Error(), "(have the caller open https://example.com/a, ") {
			t.Errorf("a page first: %v", err)
		}
		s.RemoveTools("break")
		if _, err := l.Execute(ctx, tool.Call{Name: "srv.break"}); tool.CodeOf(err) != tool.CodeNotFound {
			t.Errorf("a tool that is gone: %v", err)
		}

		var mu sync.Mutex
		var steps []float64
		ctx2 := tool.WithProgress(ctx, func(p tool.Progress) {
			mu.Lock()
			defer mu.Unlock()
			steps = append(steps, p.Done)
			if p.Total != 4 || p.Message != "step" {
				t.Errorf("%+v", p)
			}
		})
		execute(t, l, ctx2, "srv.progress", ``)
		mu.Lock()
		assert.Equalf(t, fmt.Sprint(steps), "[1 3 4]", "progress %v", steps)
		mu.Unlock()

		ctx3, cancel := context.WithCancel(ctx)
		go func() {
			<-s.started
			cancel()
		}()
		if _, err := l.Execute(ctx3, tool.Call{Name: "srv.wait"}); tool.CodeOf(err) != tool.CodeCanceled {
			t.Errorf("canceled: %v", err)
		}
		await(t, s.canceled, w)

		assert.NoError(t, (source{l.u}).SetLevel(ctx, "info"))
		heard := &person{name: "p", lines: make(chan string, 10)}
		execute(t, l, withPeer(ctx, heard), "srv.log", ``)
		assert.Equal(t, await(t, heard.lines, w), "look out")
		await(t, w.logged, w)
		if strings.Count(w.all(), "WARN lg: look out") != 1 || len(heard.lines) > 0 {
			t.Errorf("the line is there once: %s", w.all())
		}
	})
}

// person is a peer that answers.
type person struct {
	name  string
	lines chan string
	hold  chan struct{} // answers wait for it; nil: they do not
	asked chan string
}

func (p *person) ID() string { return p.name }

func (p *person) Capabilities() *mcp.ClientCapabilities {
	return &mcp.ClientCapabilities{
		RootsV2: &mcp.RootCapabilities{}, Sampling: &mcp.SamplingCapabilities{}, Elicitation: &mcp.ElicitationCapabilities{},
	}
}

func (p *person) Elicit(ctx context.Context, q *mcp.ElicitParams) (*mcp.ElicitResult, error) {
	if p.asked != nil {
		p.asked <- fmt.Sprintf("%s %s %s", q.Message, q.URL, q.RequestedSchema)
	}
	if p.hold != nil {
		select {
		case <-p.hold:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	if q.URL != "" {
		return &mcp.ElicitResult{Action: "accept"}, nil
	}
	return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"a": p.name}}, nil
}

func (p *person) CreateMessage(
	context.Context, *mcp.CreateMessageWithToolsParams,
) (*mcp.CreateMessageWithToolsResult, error) {
	return &mcp.CreateMessageWithToolsResult{
		Model: "m", Role: "assistant", Content: []mcp.Content{&mcp.TextContent{Text: "thought"}},
	}, nil
}

func (p *person) ListRoots(context.Context) (*mcp.ListRootsResult, error) {
	return &mcp.ListRootsResult{Roots: []*mcp.Root{{URI: "file:///r"}}}, nil
}

func (p *person) Log(_ context.Context, m *mcp.LoggingMessageParams) { p.lines <- fmt.Sprint(m.Data) }

// TestQuestions has a server ask its caller, over each transport and in both eras.
func TestQuestions(t *testing.T) {
	t.Parallel()
	everyWay(t, func(t *testing.T, l *link, w *watched, s *busyServer, way string) {
		ctx := within(t)
		p := &person{name: "ann", asked: make(chan string, 10)}
		got := execute(t, l, withPeer(ctx, p), "srv.ask", ``).Text()
		assert.Containsf(t, got, `"a":"ann"`, "ask")
		if q := <-p.asked; !strings.HasPrefix(q, "MCP server srv asks: which? ") ||
			!strings.HasSuffix(q, `{"type":"object","properties":{"z":{"type":"string"},"a":{"type":"string"}}}`) {
			t.Errorf("the question was %s", q)
		}
		<-s.started
		got = execute(t, l, withPeer(ctx, p), "srv.askAll", ``).Text()
		for _, want := range []string{`"thought"`, `"file:///r"`, `"accept"`} {
			assert.Containsf(t, got, want, "askAll")
		}
		<-s.started

		// Whoever is not an MCP client answers forms.
		asker := tool.WithAsker(ctx, func(_ context.Context, q tool.Question) (tool.Answer, error) {
			if q.Message != "MCP server srv asks: which?" || q.Plugin != "srv" || !strings.Contains(string(q.Schema), `"z"`) {
				t.Errorf("%+v", q)
			}
			return tool.Answer{Action: tool.Accept, Content: json.RawMessage(`{"a":"typed"}`)}, nil
		})
		assert.Containsf(t, execute(t, l, asker, "srv.ask", ``).Text(), `"a":"typed"`, "asked by form")
		<-s.started
		for _, c := range []struct {
			ctx  context.Context
			tool string
		}{{ctx, "srv.ask"}, {asker, "srv.askAll"}} {
			_, err := l.Execute(c.ctx, tool.Call{Name: c.tool})
			assert.ErrorContainsf(t, err, "cannot answer", "%s of a caller that cannot answer", c.tool)
			<-s.started
		}

		// Two callers at once: each is asked what its own call asks, or is not asked.
		bob := &person{name: "bob", hold: make(chan struct{}), asked: make(chan string, 10)}
		first := make(chan string, 1)
		go func() {
			res, err := l.Execute(withPeer(ctx, bob), tool.Call{Name: "srv.ask"})
			first <- fmt.Sprint(res.Text(), err)
		}()
		await(t, bob.asked, w)
		<-s.started
		res, err := l.Execute(withPeer(ctx, p), tool.Call{Name: "srv.ask", Arguments: json.RawMessage(`{"message":"who?"}`)})
		close(bob.hold)
		assert.Containsf(t, await(t, first, w), `"a":"bob"`, "bob")
		// On one stream an old question does not say whose it is.
		if unknown := way == "stdio sessions" || way == "sse"; unknown != (err != nil) ||
			unknown && !strings.Contains(err.Error(), "several callers") ||
			!unknown && !strings.Contains(res.Text(), `"a":"ann"`) {
			t.Errorf("ann: %v %v", res, err)
		}
	})
}

// TestListChanged follows a server's list of tools, without following each notification.
func TestListChanged(t *testing.T) {
	t.Parallel()
	everyWay(t, func(t *testing.T, l *link, w *watched, s *busyServer, _ string) {
		ctx := within(t)
		add := func(i int) {
			s.AddTool(&mcp.Tool{Name: fmt.Sprint("more", i), Description: "d", InputSchema: json.RawMessage(`{"type":"object"}`)},
				func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
					return &mcp.CallToolResult{}, nil
				})
		}
		for i := 0; ; i++ {
			add(i)
			select {
			case <-w.changed:
			case <-time.After(100 * time.Millisecond):
				if ctx.Err() == nil {
					continue
				}
				t.Fatal(w.all())
			}
			break
		}
		if _, ok := l.listed.Load().theirs["srv.more0"]; !ok {
			t.Error("the new tool is not listed")
		}
	})
}

// withPeer returns a context of a request of a client.
func withPeer(ctx context.Context, p mcpwire.Peer) context.Context {
	return context.WithValue(ctx, mcpwire.PeerKey{}, p)
}
