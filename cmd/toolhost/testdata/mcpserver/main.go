// Command mcpserver is an MCP server on standard input and output, which behaves as its
// arguments say: mcpserver [-claims FILE] [-describe FILE] [-die] [-page URI] [-prompts NAMES] [-resources URIS] TOOL...
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

type text struct {
	Text string `json:"text,omitempty"`
}

// tools are what a tool does, by its name.
var tools = map[string]func(context.Context, string) (string, error){
	"echo":   func(_ context.Context, s string) (string, error) { return s, nil },
	"whoami": func(context.Context, string) (string, error) { return strings.Join(flag.Args(), " "), nil },
	"env":    func(_ context.Context, name string) (string, error) { return os.Getenv(name), nil },
	"pid":    func(context.Context, string) (string, error) { return fmt.Sprint(os.Getpid()), nil },
	"fail":   func(context.Context, string) (string, error) { return "", fmt.Errorf("the tool failed") },
	"exit":   func(context.Context, string) (string, error) { os.Exit(3); return "", nil },
	"hang":   func(context.Context, string) (string, error) { select {} },
	"trace":  nil, // answers with the trace that it finds
	"ask":    nil, // asks a person what its argument says, and returns the answer
	"sample": nil, // asks a model
	"flood": func(ctx context.Context, _ string) (string, error) {
		line := bytes.Repeat([]byte("x"), 1<<20)
		for ctx.Err() == nil {
			if _, err := os.Stdout.Write(line); err != nil {
				os.Exit(1)
			}
		}
		return "", ctx.Err()
	},
}

func question(tool, about string) mcp.InputRequest {
	if tool == "ask" {
		return &mcp.ElicitParams{Message: about, RequestedSchema: json.RawMessage(`{"type":"object","properties":{}}`)}
	}
	return &mcp.CreateMessageWithToolsParams{MaxTokens: 5, SystemPrompt: "Be brief.", Messages: []*mcp.SamplingMessageV2{
		{Role: "user", Content: []mcp.Content{&mcp.TextContent{Text: about}}},
	}}
}

// getPrompt answers who the server is, by its arguments.
func getPrompt(_ context.Context, r *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
	said := &mcp.TextContent{Text: r.Params.Name + " of " + strings.Join(flag.Args(), " ")}
	return &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{{Role: "user", Content: said}}}, nil
}

func readResource(_ context.Context, r *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
	return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{
		{URI: r.Params.URI, Text: r.Params.URI + " of " + strings.Join(flag.Args(), " ")},
	}}, nil
}

func main() {
	describe := flag.String("describe", "", "a `FILE` that has the description of the tools")
	claims := flag.String("claims", "", "a `FILE` that has the annotations of the tools, as JSON")
	page := flag.String("page", "", "the `URI` of the page in which tools are shown")
	die := flag.Bool("die", false, "end at once")
	prompts := flag.String("prompts", "", "`NAMES` of prompts, with commas between")
	resources := flag.String("resources", "", "`URIS` of resources, and templates of such, with blanks between")
	flag.Parse()
	if *die {
		fmt.Fprintln(os.Stderr, "mcpserver: no license")
		os.Exit(4)
	}
	description := "A tool for tests."
	if *describe != "" {
		content, err := os.ReadFile(*describe)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		description = string(content)
	}
	server := mcp.NewServer(&mcp.Implementation{Name: "mcpserver", Version: "1.2.3"}, nil)
	for _, name := range flag.Args() {
		run := tools[name]
		if _, known := tools[name]; !known {
			fmt.Fprintln(os.Stderr, "mcpserver: no tool "+name)
			os.Exit(2)
		}
		no := false
		tool := &mcp.Tool{
			Name: name, Description: description,
			Annotations: &mcp.ToolAnnotations{ReadOnlyHint: name == "echo", IdempotentHint: name == "echo", DestructiveHint: &no},
		}
		if *claims != "" {
			content, err := os.ReadFile(*claims)
			tool.Annotations = &mcp.ToolAnnotations{}
			if err := errors.Join(err, json.Unmarshal(content, tool.Annotations)); err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
		}
		if *page != "" {
			tool.Meta = mcp.Meta{"ui": map[string]any{"resourceUri": *page}}
		}
		mcp.AddTool(server, tool, func(ctx context.Context, req *mcp.CallToolRequest, in text) (*mcp.CallToolResult, any, error) {
			if parent, _ := req.Params.Meta["traceparent"].(string); name == "trace" {
				return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: parent}}}, nil, nil
			}
			if run == nil && req.Params.InputResponses == nil {
				return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"q": question(name, in.Text)}}, nil, nil
			}
			if run == nil {
				answer, err := json.Marshal(req.Params.InputResponses)
				return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: string(answer)}}}, nil, err
			}
			out, err := run(ctx, in.Text)
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: out}}}, nil, err
		})
	}
	for _, name := range strings.FieldsFunc(*prompts, func(r rune) bool { return r == ',' }) {
		server.AddPrompt(&mcp.Prompt{Name: name, Description: description}, getPrompt)
	}
	for _, uri := range strings.Fields(*resources) {
		if strings.Contains(uri, "{") {
			server.AddResourceTemplate(&mcp.ResourceTemplate{Name: "t", URITemplate: uri, Description: description}, readResource)
		} else {
			server.AddResource(&mcp.Resource{Name: "r", URI: uri, Description: description}, readResource)
		}
	}
	if err := server.Run(context.Background(), &mcp.StdioTransport{}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
