package mcpserver_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/mcpserver"
	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// What a plugin and a mounted server say, the same of both. What is "faked" must not pass.
const (
	saidIcons = `[{"src":"data:image/png;base64,AAAA","sizes":["48x48"],"theme":"dark"}]`
	saidMeta  = `{"zeta":9007199254740993,"io.modelcontextprotocol/serverInfo":{"name":"faked"},"alpha":{"y":1.0,"x":2},` +
		`"progressToken":"faked","traceparent":"faked","toolhost/error":{"code":"faked"},"ui":{"resourceUri":"ui://a"}}`
	passedMeta = `{"zeta":9007199254740993,"alpha":{"y":1.0,"x":2},"ui":{"resourceUri":"ui://a"}`

	saidAnnotations = `{"priority":0.70,"audience":["user"],"lastModified":"2026-01-02T03:04:05Z"}`
)

// annotated is a tool that says all that can be said besides content.
func annotated() tool.Tool {
	return tool.Tool{
		Definition: tool.Definition{
			Name: "r.annotated", Description: "Says much.", Safety: tool.Safe,
			Icons: json.RawMessage(saidIcons), Meta: json.RawMessage(saidMeta),
		},
		Handler: func(context.Context, tool.Call) (tool.Result, error) {
			of := `{"annotations":` + saidAnnotations + `,"_meta":` + saidMeta + `}`
			return tool.Result{Meta: json.RawMessage(saidMeta), Content: []tool.Content{
				tool.TextContent{Text: "t", Extra: of},
				tool.ImageContent{Data: []byte{1}, MIMEType: "image/png", Extra: of},
				tool.AudioContent{Data: []byte{2}, MIMEType: "audio/wav", Extra: of},
				tool.ResourceContent{URI: "a:b", Text: "t", Extra: `{"annotations":` + saidAnnotations +
					`,"resource":{"_meta":` + saidMeta + `}}`},
				tool.ResourceLink{URI: "a:b", Name: "n", Extra: `{"title":"T","size":9007199254740993,"icons":` + saidIcons +
					`,"annotations":` + saidAnnotations + `,"_meta":` + saidMeta + `}`},
			}}, nil
		},
	}
}

// plainServer is the value of mountedVariable that makes the test's binary a server that writes
// its answers by hand.
const plainServer = "plain"

func servePlainly() {
	more := `"annotations":` + saidAnnotations + `,"_meta":` + saidMeta
	inside := `{"uri":"a:b","text":"t","_meta":` + saidMeta + `}`
	link := `"uri":"a:b","name":"n","title":"T","size":9007199254740993,"icons":` + saidIcons + `,` + more
	answers := map[string]string{
		"initialize": `{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"prompts":{},"resources":{},"completions":{}},` +
			`"serverInfo":{"name":"plain","version":"1"}}`,
		"ping": `{}`,
		"tools/list": `{"tools":[{"name":"annotated","description":"d","inputSchema":{"type":"object"},"icons":` + saidIcons +
			`,"_meta":` + saidMeta + `},{"name":"wrong","description":"d","inputSchema":{"type":"object"},` +
			`"icons":[{"src":"javascript:faked"}],"_meta":["faked"]}]}`,
		"tools/call": `{"_meta":` + saidMeta + `,"content":[{"type":"text","text":"t",` + more + `},` +
			`{"type":"image","data":"AQ==","mimeType":"image/png",` + more + `},` +
			`{"type":"audio","data":"Ag==","mimeType":"audio/wav",` + more + `},` +
			`{"type":"resource","resource":` + inside + `,"annotations":` + saidAnnotations + `},` +
			`{"type":"resource_link",` + link + `},` +
			`{"type":"text","text":"wrong","annotations":"faked","_meta":["faked"]},` +
			`{"type":"resource_link","uri":"w:r","name":"wrong","title":["faked"],"size":"faked","icons":[{"src":"http://faked"}]}]}`,
		"prompts/list":             `{"prompts":[{"name":"p","title":"T","icons":` + saidIcons + `,"_meta":` + saidMeta + `}],"_meta":` + saidMeta + `}`,
		"prompts/get":              `{"messages":[{"role":"user","content":{"type":"text","text":"t",` + more + `}}],"_meta":` + saidMeta + `}`,
		"resources/list":           `{"resources":[{` + link + `}]}`,
		"resources/templates/list": `{"resourceTemplates":[{"uriTemplate":"a:{x}","name":"n",` + more + `}]}`,
		"resources/read":           `{"contents":[` + inside + `],"_meta":` + saidMeta + `}`,
		"completion/complete":      `{"completion":{"values":["v"]},"_meta":` + saidMeta + `}`,
	}
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		var request struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
		}
		if json.Unmarshal(in.Bytes(), &request) != nil || request.ID == nil {
			continue
		}
		answer, ok := answers[request.Method]
		if !ok {
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"unknown"}}`+"\n", request.ID)
			continue
		}
		fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", request.ID, answer)
	}
}

// What is said besides content reaches clients as it was written: numbers, the order of keys, all.
// What only the server may say does not.
func TestVerbatim(t *testing.T) {
	t.Parallel()
	everyWay(t, func(t *testing.T, w way) {
		h := loaded(t, reporter)
		upstreams := mountedAs(t, h, plainServer, "plain")
		for name, of := range map[string]string{"plugin": "r_annotated", "server": "plain_annotated"} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				received := &record{}
				c := w.connectRecorded(t, serve(t, h, mcpserver.Options{Upstreams: upstreams}), received)
				ctx, cancel := context.WithTimeout(context.Background(), ceiling)
				defer cancel()
				res := call(t, c, of, `{}`)
				if text(res) == "" || res.IsError {
					t.Fatalf("the call: %+v", res)
				}
				if _, faked := res.Meta["io.modelcontextprotocol/serverInfo"]; faked != (w.version >= "2026") {
					t.Errorf("the server says of itself: %v", res.Meta)
				}
				has := received.String()
				counts(t, has, `"annotations":`+saidAnnotations, 5)
				counts(t, has, `"_meta":`+passedMeta, 6)
				counts(t, has, `"title":"T","size":9007199254740993,"icons":`+saidIcons, 1)
				require.Must(c.ListTools(ctx, nil))(t)
				has = received.String()
				counts(t, has, `"icons":`+saidIcons+`,"_meta":`+passedMeta+`}`, 2)
				if name == "server" {
					others(ctx, t, c, received)
				}
				assert.NotContainsf(t, received.String(), "faked", "what was faked has passed")
			})
		}
	})
}

// connectRecorded returns a client of which all that it receives is written to a record.
func (w way) connectRecorded(t *testing.T, s *mcpserver.Server, to *record) *mcp.ClientSession {
	t.Helper()
	if !w.http {
		theirs, ours, _ := pipes()
		theirs.Reader = recordedBody{theirs.Reader, to}
		ctx, cancel := context.WithCancel(context.Background())
		t.Cleanup(cancel)
		go func() { _ = s.Run(ctx, ours) }()
		return w.connectBy(t, theirs, nil)
	}
	front := httptest.NewServer(s.Handler())
	t.Cleanup(front.Close)
	t.Cleanup(front.CloseClientConnections)
	return w.connectBy(t, &mcp.StreamableClientTransport{
		Endpoint: front.URL, HTTPClient: &http.Client{Transport: recorder{to}},
	}, nil)
}

// others asks for what the server has besides tools.
func others(ctx context.Context, t *testing.T, c *mcp.ClientSession, received *record) {
	t.Helper()
	before := len(received.String())
	_, err1 := c.ListPrompts(ctx, nil)
	_, err2 := c.ListResources(ctx, nil)
	_, err3 := c.ListResourceTemplates(ctx, nil)
	_, err4 := c.GetPrompt(ctx, &mcp.GetPromptParams{Name: "p"})
	_, err5 := c.ReadResource(ctx, &mcp.ReadResourceParams{URI: "a:b"})
	_, err6 := c.Complete(ctx, &mcp.CompleteParams{
		Ref: &mcp.CompleteReference{Type: "ref/prompt", Name: "p"}, Argument: mcp.CompleteParamsArgument{Name: "x"},
	})
	for _, err := range []error{err1, err2, err3, err4, err5, err6} {
		require.NoError(t, err)
	}
	has := received.String()[before:]
	counts(t, has, `"annotations":`+saidAnnotations, 3) // a resource, a template, a message
	counts(t, has, `"_meta":`+passedMeta, 8)            // a prompt, those, and four in results and contents
}

func counts(t *testing.T, text, part string, want int) {
	t.Helper()
	if got := strings.Count(text, part); got != want {
		t.Errorf("%s is there %d times, want %d, in %s", part, got, want, text)
	}
}

// What a function of the program says is checked as what comes from outside.
func TestHostileExtras(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat(`{"a":`, 100) + "1" + strings.Repeat("}", 100)
	large := `{"a":"` + strings.Repeat("x", 2<<20) + `"}`
	for name, res := range map[string]tool.Result{
		"no JSON":     {Meta: json.RawMessage(`{`)},
		"no object":   {Meta: json.RawMessage(`[1]`)},
		"deep":        {Meta: json.RawMessage(deep)},
		"large":       {Meta: json.RawMessage(large)},
		"extra":       {Content: []tool.Content{tool.TextContent{Extra: `{"annotations":1}`}}},
		"large extra": {Content: []tool.Content{tool.ResourceLink{URI: "a:b", Extra: `{"_meta":` + large + `}`}}},
		"icon":        {Content: []tool.Content{tool.ResourceLink{URI: "a:b", Extra: `{"icons":[{"src":"file:///etc/passwd"}]}`}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHost(t, host.WithDefaults(func(all *plugin.Settings) { all.Limits.MaxResult = 1 << 20 }))
			one := tool.Tool{
				Definition: tool.Definition{Name: "a.b", Description: "d", Safety: tool.Safe},
				Handler:    func(context.Context, tool.Call) (tool.Result, error) { return res, nil },
			}
			require.NoError(t, h.Register(one))
			got := call(t, ways[0].connect(t, serve(t, h, mcpserver.Options{}), nil), "a_b", `{}`)
			want := tool.CodeInvalidResult
			if strings.HasPrefix(name, "large") {
				want = tool.CodeResourceExhausted
			}
			if !got.IsError || !strings.Contains(text(got), string(want)) {
				t.Errorf("%+v", got)
			}
		})
	}
}
