package mcpserver_test

import (
	"context"
	"encoding/json"
	"net/http"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolhost/toolhost/host/mcpserver"
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
		run("toolhost", w.connect(b, serve(b, h, mcpserver.Options{}), nil))
		front := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return own },
			&mcp.StreamableHTTPOptions{Stateless: w.version >= "2026"})
		run("sdk", w.reach(b, front, own.Run, nil))
	}
}
