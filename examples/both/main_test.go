package main

import (
	"context"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/internal/test/binaries"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// One binary answers the same both ways.
func TestBoth(t *testing.T) {
	t.Parallel()
	const want = "Hello, World!"
	binary := filepath.Join(binaries.Build(t, "examples/both"), "both")

	c, err := mcp.NewClient(&mcp.Implementation{Name: "tester"}, nil).
		Connect(t.Context(), &mcp.CommandTransport{Command: exec.CommandContext(t.Context(), binary)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	said, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "greet", Arguments: map[string]any{"name": "World"}})
	if err != nil {
		t.Fatal(err)
	}
	if text, ok := said.Content[0].(*mcp.TextContent); !ok || text.Text != want {
		t.Errorf("as an MCP server it says %+v", said)
	}

	h, err := host.New(host.WithRoot(t.TempDir()))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = h.Close(context.Background()) }()
	if _, err := h.Load(t.Context(), binary); err != nil {
		t.Fatal(err)
	}
	if out := h.Session().Call(t.Context(), tool.Call{Name: "greet", Arguments: []byte(`{"name":"World"}`)}); out.Content != want {
		t.Errorf("as a plugin it says %+v", out)
	}
}
