package main

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolhost/toolhost/internal/test/require"
)

// searching is a client of a caller that finds its tools by search.
type searching struct {
	t *testing.T
	c *mcp.ClientSession
}

// call calls a tool and returns its text.
func (s searching) call(name string, arguments map[string]any) answered {
	s.t.Helper()
	res, err := s.c.CallTool(s.t.Context(), &mcp.CallToolParams{Name: name, Arguments: arguments})
	if err != nil {
		return answered{err.Error(), true}
	}
	var texts []string
	for _, block := range res.Content {
		if text, ok := block.(*mcp.TextContent); ok {
			texts = append(texts, text.Text)
		}
	}
	return answered{strings.Join(texts, "\n"), res.IsError}
}

// finds returns the names of the tools that a search finds.
func (s searching) finds(query string) (names []string) {
	s.t.Helper()
	a := s.call("tools_search", map[string]any{"query": query, "limit": 20})
	var found struct {
		Tools []struct {
			Name        string
			InputSchema json.RawMessage `json:"input_schema"`
		}
	}
	if err := json.Unmarshal([]byte(a.text), &found); err != nil || a.isError {
		s.t.Fatalf("a search for %q returns %+v", query, a)
	}
	for _, one := range found.Tools {
		if len(one.InputSchema) == 0 {
			s.t.Errorf("%s comes without the schema of its arguments", one.Name)
		}
		names = append(names, one.Name)
	}
	return names
}

// A caller with discovery: search has three tools in place of all, by each way of MCP. They give it what
// it may call and nothing else, a tool that it calls by them is the one on record, and a reload that
// says otherwise reaches a client that is connected.
func TestDiscoveryOverMCP(t *testing.T) {
	t.Parallel()
	const rules = "discovery: search, grants: ['fs:read'], tools: {deny: [play.blob]}"
	for _, way := range []string{"2026-07-28", "2025-11-25", "http"} {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, "fs", "player")
			w.write("a.txt", "what the file says")
			w.configure("callers: {mcp: {"+rules+"}, ci: {"+rules+"}}", "tools: {play.fail: {approval: deny}}")
			told := make(chan struct{}, 100)
			asked := make(chan string, 1)
			o := &mcp.ClientOptions{
				ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) { told <- struct{}{} },
				ElicitationHandler: func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
					asked <- r.Params.Message
					return &mcp.ElicitResult{Action: "accept", Content: map[string]any{}}, nil
				},
			}
			var c *mcp.ClientSession
			var reload func(syscall.Signal) error
			if way == "http" {
				f := w.serveMCP("--config", w.config())
				c = f.connect(w.token("ci"), o)
				reload = func(s syscall.Signal) error { return f.cmd.Process.Signal(s) }
			} else {
				cmd := w.command("serve", "--mcp", "stdio", "--plugin-dir", w.plugins, "--config", w.config())
				c = w.agentOf(cmd, way, o)
				reload = func(s syscall.Signal) error { return cmd.Process.Signal(s) }
			}
			s := searching{t, c}
			equalLists(t, "the tools", toolsOf(t, c), []string{"tools_call", "tools_read", "tools_search"})
			for _, listed := range require.Must(c.ListTools(t.Context(), nil))(t).Tools {
				if a, reads := listed.Annotations, listed.Name != "tools_call"; a.ReadOnlyHint != reads || *a.DestructiveHint == reads {
					t.Errorf("%s is listed as %+v", listed.Name, a) // play.danger can be called
				}
			}

			if names := s.finds("read the contents of a file"); !slices.Contains(names, "fs.read") {
				t.Errorf("a search for what it may call finds %q", names)
			}
			for query, hidden := range map[string]string{"write a text file": "fs.write", "answers with the bytes 0 to 255": "play.blob"} {
				if names := s.finds(query); slices.Contains(names, hidden) {
					t.Errorf("a search finds %s, which the caller may not call", hidden)
				}
			}
			for _, name := range []string{"fs.read", "fs_read"} {
				s.call("tools_call", map[string]any{"name": name, "arguments": map[string]any{"path": "a.txt"}}).has(t, false, "what the file says")
			}
			s.call("tools_read", map[string]any{"name": "fs.read", "arguments": map[string]any{"path": "a.txt"}}).has(t, false, "what the file says")
			s.call("tools_read", map[string]any{"name": "play.danger", "arguments": map[string]any{"text": "boo"}}).
				has(t, true, "tools_read calls safe tools only, and play.danger is dangerous")
			s.call("fs_read", map[string]any{"path": "a.txt"}).has(t, false, "what the file says")

			for what, c := range map[string]struct {
				name      string
				arguments map[string]any
				says      []string
			}{
				"without the grant": {"fs.write", map[string]any{"path": "b", "content": "x"}, []string{"Permission denied for tool: fs.write", "fs:write"}},
				"not visible":       {"play.blob", nil, []string{"Unknown tool: play.blob", "not among the tools of this caller"}},
				"unknown":           {"fs.reed", nil, []string{"Unknown tool: fs.reed", "did you mean fs.read?"}},
				"denied":            {"play.fail", nil, []string{"Approval denied for tool: play.fail", "do not call it again"}},
				"bad arguments":     {"fs.read", map[string]any{"pth": "a.txt"}, []string{"unexpected argument: pth"}},
				"itself":            {"tools.call", map[string]any{"name": "fs.read"}, []string{"Invalid tool call"}},
			} {
				a := s.call("tools_call", map[string]any{"name": c.name, "arguments": c.arguments})
				for _, text := range c.says { // as a result: many clients show no other errors to the model
					if !a.isError || strings.HasPrefix(a.text, "calling") || !strings.Contains(a.text, text) {
						t.Errorf("%s: the client gets %q (an error: %v), without %q", what, a.text, a.isError, text)
					}
				}
			}
			s.call("tools_call", map[string]any{"name": "play.danger", "arguments": map[string]any{"text": "boo"}}).has(t, false, "boo")
			if q := <-asked; !strings.Contains(q, "play.danger") || !strings.Contains(q, `"boo"`) || strings.Contains(q, "tools.call") {
				t.Errorf("the client is asked %q", q)
			}

			w.configure("callers: {mcp: {}, ci: {}}")
			require.NoError(t, reload(syscall.SIGHUP))
			for !slices.Contains(toolsOf(t, c), "play_echo") {
				select {
				case <-told:
				case <-time.After(time.Minute):
					t.Fatal("the client does not learn that it has all tools")
				}
			}
			if names := toolsOf(t, c); slices.Contains(names, "tools_search") {
				t.Errorf("the tools are %q", names)
			}
			_ = c.Close()
			o2 := w.run("audit", "--via", "mcp", "--json").exits(0).
				prints(`"tool":"fs.read"`, `"tool":"fs.write"`, `"tool":"fs.reed"`, `"tool":"play.danger"`)
			if strings.Contains(o2.stdout, `"tool":"tools.call"`) && !strings.Contains(o2.stdout, "cannot call itself") {
				t.Errorf("on record is %s", o2.stdout)
			}
		})
	}
}
