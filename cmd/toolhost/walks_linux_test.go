package main

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolhost/toolhost/internal/mcpjson"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/internal/test/snippets"
)

// An agent's first hour: in a clean home the command of the tutorial writes an entry, and what that says calls
// a tool, while a server of the project does not answer at all.
func TestAgentWalk(t *testing.T) {
	t.Parallel()
	repository := require.Must(filepath.Abs(filepath.Join("..", "..")))(t)
	const name = "docs/tutorials/agent.md"
	text := require.Must(os.ReadFile(filepath.Join(repository, name)))(t)
	blocks := require.Must(snippets.Read(string(text)))(t)
	blocks = slices.DeleteFunc(blocks, func(b snippets.Block) bool { return !strings.Contains(b.Text, "toolhost connect ") })
	if len(blocks) != 1 || strings.Count(blocks[0].Text, "\n") > 2 {
		t.Fatalf("it takes more than two commands, or none: %+v", blocks)
	}
	called := false
	p := &page{t: t, name: name, repository: repository}
	p.script.WriteString("echo 'mcp_servers: {slow: {command: sleep, args: [infinity]}}' >toolhost.yaml\ntoolhost trust --yes\necho kept >notes.txt\n")
	p.after = func(home string) {
		ctx, cancel := context.WithTimeout(t.Context(), require.Ceiling)
		defer cancel()
		var file struct {
			MCPServers map[string]struct {
				Command string
				Args    []string
			}
		}
		require.NoError(t, json.Unmarshal(require.Must(os.ReadFile(filepath.Join(home, ".claude.json")))(t), &file))
		entry := file.MCPServers["toolhost"]
		cmd := p.command(ctx, filepath.Join(home, "project"), append([]string{entry.Command}, entry.Args...)...)
		c := require.Must(mcp.NewClient(&mcp.Implementation{Name: "claude-code", Version: "1"}, nil).
			Connect(ctx, &mcp.CommandTransport{Command: cmd}, nil))(t)
		defer func() { _ = c.Close() }()
		res := require.Must(c.CallTool(ctx, &mcp.CallToolParams{Name: "fs_read", Arguments: map[string]any{"path": "notes.txt"}}))(t)
		if text, _ := res.Content[0].(*mcp.TextContent); res.IsError || text == nil || !strings.Contains(text.Text, "kept") {
			t.Errorf("the client gets %+v", res.Content[0])
		}
		if require.Must(c.ListTools(ctx, nil))(t).Meta[mcpjson.Starting] == nil {
			t.Error("the server that hangs is not starting any more")
		}
		called = true
	}
	if p.check(blocks); !called {
		t.Error("no tool was called")
	}
}
