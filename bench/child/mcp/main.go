// Command mcp serves the tools with the MCP SDK for Go over standard input and
// output. Its handlers are the SDK's plain ones, which cost it least.
package main

import (
	"context"
	"encoding/json"
	"log"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolhost/toolhost/bench/internal/work"
)

func main() {
	server := mcp.NewServer(&mcp.Implementation{Name: "bench", Version: "1"}, nil)
	for _, name := range work.Tools {
		server.AddTool(&mcp.Tool{Name: name, Description: work.Describe(name), InputSchema: json.RawMessage(work.Schema)},
			func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				text, err := work.Handle(name, req.Params.Arguments)
				if err != nil {
					return nil, err
				}
				return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}, nil
			})
	}
	if err := server.Run(context.Background(), &mcp.StdioTransport{}); err != nil {
		log.Fatal(err)
	}
}
