package mcpclient

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolhost/toolhost/host/internal/mcpwire"
	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// patience is how long a test waits for what takes a moment.
const patience = require.Ceiling

// watched records what a connection reports.
type watched struct {
	mu      sync.Mutex
	faults  []string
	logs    []string
	changed chan struct{}
	logged  chan struct{}
}

func newWatched() *watched {
	return &watched{changed: make(chan struct{}, 100), logged: make(chan struct{}, 1000)}
}

func (w *watched) events() plugin.Events {
	return plugin.Events{
		Changed: func() {
			select {
			case w.changed <- struct{}{}:
			default:
			}
		},
		Log: func(level slog.Level, line string) {
			w.mu.Lock()
			w.logs = append(w.logs, level.String()+" "+line)
			w.mu.Unlock()
			select {
			case w.logged <- struct{}{}:
			default:
			}
		},
		Fault: func(err error) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.faults = append(w.faults, err.Error())
		},
	}
}

func (w *watched) all() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return strings.Join(append(append([]string{}, w.faults...), w.logs...), "\n")
}

func within(t testing.TB) context.Context {
	t.Helper()
	ctx, stop := context.WithTimeout(context.Background(), patience)
	t.Cleanup(stop)
	return ctx
}

// upstream returns an upstream on stdio.
func upstream(t testing.TB, change func(*Config)) *Upstream {
	t.Helper()
	config := Config{Name: "srv", Command: "server", Questions: Questions{Sampling: true}}
	if change != nil {
		change(&config)
	}
	u := require.Must(New(config))(t)
	return u
}

// mount connects an upstream to a server over a pipe, as the supervisor does.
func mount(t testing.TB, u *Upstream, server *mcp.Server) (*link, *watched) {
	t.Helper()
	ours, theirs := net.Pipe()
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = server.Run(ctx, &mcp.IOTransport{Reader: theirs, Writer: theirs})
	}()
	w := newWatched()
	conn := require.Must(u.Connect(within(t), ours, w.events()))(t)
	t.Cleanup(func() {
		if err := conn.Close(within(t)); err != nil {
			t.Errorf("close: %v", err)
		}
		stop()
		<-ended
	})
	return conn.(*link), w
}

// eras are the revisions that an upstream begins with.
var eras = map[string]string{"stateless": "", "sessions": lastWithSessions}

func execute(t testing.TB, l *link, ctx context.Context, name, arguments string) tool.Result {
	t.Helper()
	res, err := l.Execute(ctx, tool.Call{Name: name, Arguments: json.RawMessage(arguments)})
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return res
}

// rawServer answers with JSON as it is written.
type rawServer struct {
	conn    net.Conn
	turn    chan struct{} // full while it writes: to wait for a pipe's own mutex holds up the time of a bubble
	mu      sync.Mutex
	methods map[string]func(id, params json.RawMessage)
}

// newRawServer returns a server of the revision with sessions that answers as methods say.
func newRawServer(conn net.Conn) *rawServer {
	s := &rawServer{conn: conn, turn: make(chan struct{}, 1), methods: map[string]func(id, params json.RawMessage){}}
	s.methods["initialize"] = func(id, _ json.RawMessage) {
		s.result(id, `{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true}},`+
			`"serverInfo":{"name":"raw","version":"1"}}`)
	}
	s.methods["ping"] = func(id, _ json.RawMessage) { s.result(id, `{}`) }
	return s
}

func (s *rawServer) write(line string) { _ = s.try(line) }

func (s *rawServer) try(line string) error {
	s.turn <- struct{}{}
	defer func() { <-s.turn }()
	_, err := io.WriteString(s.conn, line+"\n")
	return err
}

func (s *rawServer) result(id json.RawMessage, result string) {
	s.write(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, id, result))
}

// run answers until the connection ends.
func (s *rawServer) run() {
	dec := json.NewDecoder(s.conn)
	for {
		var m struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
			Params json.RawMessage `json:"params"`
		}
		if dec.Decode(&m) != nil {
			return
		}
		s.mu.Lock()
		f := s.methods[m.Method]
		s.mu.Unlock()
		switch {
		case f != nil:
			f(m.ID, m.Params)
		case m.ID != nil && m.Method != "":
			s.write(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no such method"}}`, m.ID))
		}
	}
}

// mountRaw connects to a server that answers as set up.
func mountRaw(t testing.TB, u *Upstream, setup func(*rawServer)) (*link, *watched, *rawServer) {
	t.Helper()
	ours, theirs := net.Pipe()
	s := newRawServer(theirs)
	setup(s)
	ended := make(chan struct{})
	go func() { defer close(ended); s.run() }()
	w := newWatched()
	conn, err := u.Connect(within(t), ours, w.events())
	if err != nil {
		t.Fatalf("%v\n%s", err, w.all())
	}
	t.Cleanup(func() {
		_ = conn.Close(within(t))
		_ = theirs.Close()
		<-ended
	})
	return conn.(*link), w, s
}

// TestVerbatim proves that schemas, structured content and arguments arrive as they were sent.
func TestVerbatim(t *testing.T) {
	t.Parallel()
	const schema = `{"type":"object","properties":{"z":{"type":"integer","maximum":9007199254740993},` +
		`"a":{"type":"string"}},"x-own":[1.0,{"b":1,"a":2}]}`
	const structured = `{"z":9007199254740993,"a":1.50,"m":{"y":1e400,"b":"é"}}`
	var got json.RawMessage
	l, _, _ := mountRaw(t, upstream(t, nil), func(s *rawServer) {
		s.methods["tools/list"] = func(id, _ json.RawMessage) {
			s.result(id, `{"tools":[{"name":"t","description":"d","inputSchema":`+schema+`,"outputSchema":`+schema+`}]}`)
		}
		s.methods["tools/call"] = func(id, params json.RawMessage) {
			var p struct {
				Arguments json.RawMessage `json:"arguments"`
			}
			_ = json.Unmarshal(params, &p)
			got = p.Arguments
			s.result(id, `{"content":[{"type":"text","text":"t"},{"type":"image","data":"AAEC","mimeType":"image/png"},`+
				`{"type":"audio","data":"AwQ=","mimeType":"audio/wav"},`+
				`{"type":"resource","resource":{"uri":"a:b","mimeType":"m","text":"x"}},`+
				`{"type":"resource","resource":{"uri":"a:c","blob":""}},`+
				`{"type":"resource_link","uri":"a:d","name":"n","description":"e","mimeType":"m"}],`+
				`"structuredContent":`+structured+`}`)
		}
	})
	tools := l.Description().Tools
	if len(tools) != 1 || tools[0].Name != "srv.t" || string(tools[0].InputSchema) != schema ||
		string(tools[0].OutputSchema) != schema {
		t.Fatalf("%+v", tools)
	}
	const arguments = `{"z":9007199254740993,"a":1.50}`
	res := execute(t, l, within(t), "srv.t", arguments)
	assert.Equalf(t, string(got), arguments, "the server got %s", got)
	assert.Equalf(t, string(res.Structured), structured, "structured %s", res.Structured)
	want := []tool.Content{
		tool.TextContent{Text: "t"}, tool.ImageContent{Data: []byte{0, 1, 2}, MIMEType: "image/png"},
		tool.AudioContent{Data: []byte{3, 4}, MIMEType: "audio/wav"},
		tool.ResourceContent{URI: "a:b", MIMEType: "m", Text: "x"}, tool.ResourceContent{URI: "a:c", Blob: []byte{}},
		tool.ResourceLink{URI: "a:d", Name: "n", Description: "e", MIMEType: "m"},
	}
	if a, b := fmt.Sprintf("%#v", res.Content), fmt.Sprintf("%#v", want); a != b {
		t.Errorf("content\n%s\n%s", a, b)
	}
}

// TestPassThrough reaches a server's prompts and resources in both eras.
func TestPassThrough(t *testing.T) {
	t.Parallel()
	for era, version := range eras {
		t.Run(era, func(t *testing.T) {
			t.Parallel()
			server := mcp.NewServer(&mcp.Implementation{Name: "s", Version: "7"}, &mcp.ServerOptions{
				PageSize:           2,
				SubscribeHandler:   func(context.Context, *mcp.SubscribeRequest) error { return nil },
				UnsubscribeHandler: func(context.Context, *mcp.UnsubscribeRequest) error { return nil },
				CompletionHandler: func(context.Context, *mcp.CompleteRequest) (*mcp.CompleteResult, error) {
					return &mcp.CompleteResult{Completion: mcp.CompletionResultDetails{Values: []string{"done"}}}, nil
				},
			})
			prompt := func(name string) {
				server.AddPrompt(&mcp.Prompt{Name: name}, func(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
					return &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{
						{Role: "user", Content: &mcp.TextContent{Text: "hello " + name}},
					}}, nil
				})
			}
			for _, name := range []string{"a", "b", "c"} {
				prompt(name)
			}
			server.AddResource(&mcp.Resource{Name: "r", URI: "test://r"},
				func(_ context.Context, r *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
					return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: r.Params.URI, Text: "text"}}}, nil
				})
			server.AddResourceTemplate(&mcp.ResourceTemplate{Name: "t", URITemplate: "test://t/{x}"},
				func(_ context.Context, r *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
					return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: r.Params.URI, Text: "made"}}}, nil
				})
			u := upstream(t, func(c *Config) { c.Version = version })
			prompts, updates := make(chan struct{}, 10), make(chan string, 10)
			from := source{u}
			defer from.Notify(mcpwire.Notices{
				PromptsChanged: func() { prompts <- struct{}{} }, ResourcesChanged: func() {}, ResourceUpdated: func(uri string) { updates <- uri },
			})()
			l, w := mount(t, u, server)
			ctx := within(t)
			if l.stateless() != (version == "") {
				t.Errorf("revision %s", l.session.InitializeResult().ProtocolVersion)
			}
			assert.Equal(t, l.Description().Version, "7")
			own := func(of mcpwire.Own, arguments string) (string, error) {
				ctx := context.WithValue(ctx, mcpwire.SubscriberKey{}, true)
				got, err := l.Execute(ctx, tool.Call{Name: of.Of("srv"), Arguments: json.RawMessage(arguments)})
				return string(got.Structured), err
			}
			for range 2 {
				if got, err := from.List(ctx, mcpwire.Prompts); err != nil || len(got) != 3 || got[2].Key != "c" {
					t.Fatalf("%v %v", got, err)
				}
			}
			if got, err := own(mcpwire.Prompt, `{"name":"b"}`); err != nil || !strings.Contains(got, `"hello b"`) {
				t.Errorf("%v %v", got, err)
			}
			if got, err := from.List(ctx, mcpwire.Resources); err != nil || len(got) != 1 || got[0].Key != "test://r" {
				t.Errorf("%v %v", got, err)
			}
			if got, err := from.List(ctx, mcpwire.Templates); err != nil || len(got) != 1 {
				t.Errorf("%v %v", got, err)
			}
			for range 2 {
				if got, err := own(mcpwire.Read, `{"uri":"test://t/1"}`); err != nil || !strings.Contains(got, `"made"`) {
					t.Errorf("%v %v", got, err)
				}
			}
			if _, err := own(mcpwire.Read, `{"uri":"test://none"}`); theirError(err) == nil {
				t.Errorf("%v is not the server's error", err)
			}
			if got, err := own(mcpwire.Complete, `{"ref":{"type":"ref/prompt","name":"a"},"argument":{"name":"x","value":""}}`); err != nil ||
				!strings.Contains(got, `["done"]`) {
				t.Errorf("%v %v", got, err)
			}
			prompt("d")
			await(t, prompts, w)
			for range 2 {
				if got, err := own(mcpwire.Subscribe, `{"uri":"test://r"}`); err != nil || got != "{}" {
					t.Errorf("%v %v", got, err)
				}
			}
			if version == "" {
				// The SDK does not wait for the subscription's acknowledgement.
				go func() {
					for range 400 {
						_ = server.ResourceUpdated(ctx, &mcp.ResourceUpdatedNotificationParams{URI: "test://r"})
						select {
						case <-ctx.Done():
							return
						case <-time.After(50 * time.Millisecond):
						}
					}
				}()
			} else if err := server.ResourceUpdated(ctx, &mcp.ResourceUpdatedNotificationParams{URI: "test://r"}); err != nil {
				t.Fatal(err)
			}
			assert.Equal(t, await(t, updates, w), "test://r")
			for range 3 {
				assert.NoError(t, from.Unsubscribe(ctx, "test://r"))
			}
			assert.Equalf(t, len(u.followed), 0, "%v is followed", u.followed)
		})
	}
}

func await[T any](t testing.TB, c <-chan T, w *watched) (out T) {
	t.Helper()
	select {
	case out = <-c:
	case <-time.After(patience):
		t.Fatalf("it did not happen:\n%s", w.all())
	}
	return out
}
