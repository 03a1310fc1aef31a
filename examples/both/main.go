// Command both is an MCP server and a plugin of toolhost, with one code base: run by an MCP
// client it speaks MCP on standard input and output, started by a host it is a plugin.
//
//	claude mcp add both -- "$PWD/both"
//	toolhost call --plugin ./both greet --arg name=World
package main

import (
	"context"
	"log"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolhost/toolhost/pluginsdk/mcpplugin"
)

type person struct {
	Name string `json:"name" jsonschema:"the person to greet"`
}

func greet(_ context.Context, _ *mcp.CallToolRequest, p person) (*mcp.CallToolResult, any, error) {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "Hello, " + p.Name + "!"}}}, nil, nil
}

func main() {
	server := mcp.NewServer(&mcp.Implementation{Name: "both", Version: "0.1.0"}, nil)
	mcp.AddTool(server, &mcp.Tool{
		Name: "greet", Description: "Greets a person by name.", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true},
	}, greet)
	if mcpplugin.Hosted() {
		mcpplugin.Main(server)
	}
	if err := server.Run(context.Background(), &mcp.StdioTransport{}); err != nil {
		log.Fatal(err)
	}
}
