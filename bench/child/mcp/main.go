// Command mcp serves the tools with the MCP SDK for Go over standard input and
// output, or with -http over HTTP on a port that it writes to standard error, or with
// a number as many others. Its handlers are the SDK's plain ones, which cost it least.
package main

import (
	"context"
	"encoding/json"
	"log"
	"net"
	"net/http"
	"os"
	"strconv"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolhost/toolhost/bench/internal/work"
)

func main() {
	server := mcp.NewServer(&mcp.Implementation{Name: "bench", Version: "1"}, nil)
	names := work.Tools
	if len(os.Args) > 1 {
		many, _ := strconv.Atoi(os.Args[1]) // else there are none
		for i := range many {
			names = append(names, work.Numbered(i))
		}
	}
	for _, name := range names {
		server.AddTool(&mcp.Tool{Name: name, Description: work.Describe(name), InputSchema: json.RawMessage(work.Schema)},
			func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				text, err := work.Handle(name, req.Params.Arguments)
				if err != nil {
					return nil, err
				}
				return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}, nil
			})
	}
	if len(os.Args) > 1 && os.Args[1] == "-http" {
		log.Fatal(serveHTTP(server))
	}
	if err := server.Run(context.Background(), &mcp.StdioTransport{}); err != nil {
		log.Fatal(err)
	}
}

func serveHTTP(server *mcp.Server) error {
	l, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // it ends with the process
	if err != nil {
		return err
	}
	log.Printf("http://%s/mcp", l.Addr())
	h := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &mcp.StreamableHTTPOptions{Stateless: true})
	return http.Serve(l, h) //nolint:gosec // a benchmark needs no time limits
}
