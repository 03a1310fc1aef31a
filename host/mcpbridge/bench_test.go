package mcpbridge_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolhost/toolhost/host/mcpbridge"
	"github.com/toolhost/toolhost/internal/test/plugintest"
)

// BenchmarkCallTool is a call of a plugin's tool by MCP, next to the SDK's own server that
// answers itself.
func BenchmarkCallTool(b *testing.B) {
	h := loaded(b, plugintest.Fixture)
	own := mcp.NewServer(&mcp.Implementation{Name: "sdk"}, nil)
	own.AddTool(&mcp.Tool{Name: "test_echo", InputSchema: json.RawMessage(`{"type":"object"}`)},
		func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{
				Content: []mcp.Content{&mcp.TextContent{Text: string(r.Params.Arguments)}}, StructuredContent: r.Params.Arguments,
			}, nil
		})
	for _, w := range ways {
		run := func(name string, c *mcp.ClientSession) {
			params := &mcp.CallToolParams{Name: "test_echo", Arguments: map[string]any{"text": "hello"}}
			one := func(b *testing.B) {
				if res, err := c.CallTool(context.Background(), params); err != nil || res.IsError {
					b.Fatal(res, err)
				}
			}
			b.Run(w.name+"/"+name, func(b *testing.B) {
				for b.Loop() {
					one(b)
				}
			})
			b.Run(w.name+"/64/"+name, func(b *testing.B) {
				b.SetParallelism(32)
				b.RunParallel(func(p *testing.PB) {
					for p.Next() {
						one(b)
					}
				})
			})
		}
		run("toolhost", w.connect(b, serve(b, h, mcpbridge.ServerOptions{}), nil))
		run("sdk", w.connectSDK(b, own))
	}
}

func (w way) connectSDK(b *testing.B, s *mcp.Server) *mcp.ClientSession {
	b.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	b.Cleanup(cancel)
	var transport mcp.Transport
	if w.http {
		front := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s },
			&mcp.StreamableHTTPOptions{Stateless: w.version >= "2026"}))
		b.Cleanup(front.Close)
		b.Cleanup(front.CloseClientConnections)
		transport = &mcp.StreamableClientTransport{Endpoint: front.URL}
	} else {
		theirs, ours, _ := pipes()
		go func() { _ = s.Run(ctx, ours) }()
		transport = theirs
	}
	c, err := mcp.NewClient(&mcp.Implementation{Name: "tester", Version: "1"}, nil).
		Connect(ctx, transport, &mcp.ClientSessionOptions{ProtocolVersion: w.version})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = c.Close() })
	return c
}
