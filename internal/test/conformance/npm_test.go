package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolhost/toolhost/internal/sample"
	"github.com/toolhost/toolhost/internal/test/mcptest"
	"github.com/toolhost/toolhost/internal/test/require"
)

// examples are servers that others wrote, as programs of npm. Those with a variable listen on the port that it has.
var examples = map[string]struct{ file, argument, variable string }{
	"everything":       {"@modelcontextprotocol/server-everything/dist/index.js", "stdio", ""},
	"everything-http":  {"@modelcontextprotocol/server-everything/dist/index.js", "streamableHttp", "PORT"},
	"filesystem":       {"@modelcontextprotocol/server-filesystem/dist/index.js", ".", ""},
	"output-schema":    {sdkExamples + "mcpServerOutputSchema.js", "", ""},
	"progress":         {sdkExamples + "progressExample.js", "", ""},
	"everything-sse":   {"@modelcontextprotocol/server-everything/dist/index.js", "sse", "PORT"},
	"elicitation":      {sdkExamples + "elicitationFormExample.js", "", "PORT"},
	"streamable":       {sdkExamples + "simpleStreamableHttp.js", "", "MCP_PORT"},
	"hono":             {sdkExamples + "honoWebStandardStreamableHttp.js", "", "MCP_PORT"},
	"task-interactive": {sdkExamples + "simpleTaskInteractive.js", "", "PORT"},
}

const sdkExamples = "@modelcontextprotocol/sdk/dist/esm/examples/server/"

// What passes with a server of npm passes as well if it is mounted with default settings and whoever is asked says yes:
// each tool, prompt and resource of ten. Sampling alone is off by itself.
func TestServersOfNpm(t *testing.T) {
	t.Parallel()
	modules(t)
	for name, e := range examples { //nolint:paralleltest // each takes the whole machine
		t.Run(name, func(t *testing.T) {
			direct := newWorld(t, "")
			words := node(t, e.file, e.argument)
			how := fmt.Sprintf("command: %q, args: [%q, %q]", words[0], words[1], words[2])
			var alone mcp.Transport = &mcp.CommandTransport{Command: direct.program(t.Context(), words[0], words[1:]...)}
			if e.variable != "" {
				port := strconv.Itoa(mcptest.FreePort(t))
				cmd := direct.program(t.Context(), words[0], words[1:]...)
				cmd.Env = append(cmd.Env, e.variable+"="+port)
				require.NoError(t, cmd.Start())
				t.Cleanup(func() { _ = cmd.Wait() })
				require.Eventually(t, "it listens", func() bool {
					conn, err := net.Dial("tcp", "localhost:"+port) //nolint:noctx // of this machine
					if err == nil {
						_ = conn.Close()
					}
					return err == nil
				})
				url := "http://localhost:" + port
				alone, how = &mcp.StreamableClientTransport{Endpoint: url + "/mcp"}, fmt.Sprintf("url: %q", url+"/mcp")
				if e.argument == "sse" {
					alone, how = &mcp.SSEClientTransport{Endpoint: url + "/sse"}, fmt.Sprintf("url: %q, transport: sse", url+"/sse")
				}
			}
			w := newWorld(t, "mcp_servers: {srv: {"+how+", questions: {sampling: true}}}\n")
			before := outcomes(t, alone, "")
			cmd, complaints := w.program(t.Context(), w.toolhost(), w.arguments("serve", "--mcp", "stdio")...), newLines()
			cmd.Stderr = complaints
			after := outcomes(t, &mcp.CommandTransport{Command: cmd}, "srv_")
			passed := 0
			for what, failed := range before {
				if failed != "" {
					continue
				}
				if passed++; after[what] != "" {
					t.Errorf("%s is lost: %s\n%s", what, after[what], complaints)
				}
			}
			t.Logf("%d of %d pass alone", passed, len(before))
			if passed == 0 && name != "task-interactive" { // whose tools are tasks alone
				t.Error("nothing of it passes")
			}
		})
	}
}

// outcomes uses all that a server has, by names without a prefix, and returns why it failed; empty: it passed.
func outcomes(t *testing.T, by mcp.Transport, prefix string) map[string]string {
	t.Helper()
	client := mcp.NewClient(&mcp.Implementation{Name: "uses", Version: "1"}, &mcp.ClientOptions{
		ElicitationHandler: func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			schema, err := json.Marshal(r.Params.RequestedSchema)
			out := &mcp.ElicitResult{Action: "accept"}
			return out, errors.Join(err, json.Unmarshal(sample.Arguments(schema, true), &out.Content))
		},
		CreateMessageHandler: func(context.Context, *mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) {
			return &mcp.CreateMessageResult{Role: "assistant", Model: "m", Content: &mcp.TextContent{Text: "sampled"}}, nil
		},
	})
	c := require.Must(client.Connect(t.Context(), by, nil))(t)
	defer func() { _ = c.Close() }()
	out := map[string]string{}
	try := func(what string, use func(context.Context) error) {
		ctx, stop := context.WithTimeout(t.Context(), limit/4)
		defer stop()
		out[what] = ""
		if err := use(ctx); err != nil {
			out[what] = err.Error()
		}
	}
	begun := time.Now()
	var tools []*mcp.Tool
	for len(tools) == 0 { // a client of toolhost is answered before a slow server has started
		for tool, err := range c.Tools(t.Context(), nil) {
			require.NoError(t, err)
			tools = append(tools, tool)
		}
		if time.Since(begun) > limit {
			t.Fatal("it has no tools")
		}
	}
	slices.SortFunc(tools, func(a, b *mcp.Tool) int { return strings.Compare(a.Name, b.Name) }) // what one leaves, another finds
	for _, tool := range tools {
		schema := require.Must(json.Marshal(tool.InputSchema))(t)
		try("tool "+strings.TrimPrefix(tool.Name, prefix), func(ctx context.Context) error {
			got, err := c.CallTool(ctx, &mcp.CallToolParams{Name: tool.Name, Arguments: sample.Arguments(schema, false)})
			if err == nil && got.IsError {
				text, _ := json.Marshal(got.Content)
				err = fmt.Errorf("%s", text)
			}
			return err
		})
	}
	if about := c.InitializeResult().Capabilities; about.Prompts != nil {
		for p, err := range c.Prompts(t.Context(), nil) {
			require.NoError(t, err)
			args := map[string]string{}
			for _, a := range p.Arguments {
				args[a.Name] = "x"
			}
			try("prompt "+p.Name, func(ctx context.Context) error {
				_, err := c.GetPrompt(ctx, &mcp.GetPromptParams{Name: p.Name, Arguments: args})
				return err
			})
		}
	}
	if about := c.InitializeResult().Capabilities; about.Resources != nil {
		for r, err := range c.Resources(t.Context(), nil) {
			require.NoError(t, err)
			try("resource "+r.URI, func(ctx context.Context) error {
				_, err := c.ReadResource(ctx, &mcp.ReadResourceParams{URI: r.URI})
				return err
			})
		}
	}
	return out
}
