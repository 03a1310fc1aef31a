package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/require"
)

// place puts one of the built binaries where no host looks.
func (w *world) place(binary, as string) string {
	w.t.Helper()
	path := filepath.Join(w.root, as)
	require.NoError(w.t, os.Link(filepath.Join(built.dir, binary), path))
	return path
}

// A plugin is used by its file, with nothing of what is installed, and nothing is remembered of it.
func TestPluginFile(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "fs")
	w.place("player", "player")
	w.env = append(w.env, "TOOLHOST_PLUGIN_DIR="+w.plugins)
	w.serve() // which has other plugins
	o := w.bare("call", "--plugin", "./player", "play.echo", `{"text":"from a file"}`).exits(0).prints(`{"text":"from a file"}`)
	equal(t, "standard error", o.stderr, "")
	var tools []host.Tool
	w.bare("tools", "--plugin", "player", "--json").exits(0).json(&tools)
	for _, one := range tools {
		if one.Owner != "player" {
			t.Errorf("%s of %s is there", one.Name, one.Owner)
		}
	}
	w.bare("tools", "show", "--plugin", "player", "play.blob").exits(0).prints("cautious")
	w.bare("tools", "--plugin", "player", "--for", "openai").exits(0).prints("play_echo")
	w.bare("call", "--plugin", "player", "fs.read", `{"path":"a"}`).exits(3).says("Unknown tool: fs.read")
	w.bare("call", "--plugin", "player", "play.ehco").exits(3).says("did you mean play.echo")
	w.bare("call", "--plugin", "player", "play.danger").exits(5)
	w.bare("__complete", "call", "--plugin", "player", "play.ec").exits(0).prints("play.echo")
	w.run("audit", "--tool", "play.echo", "--json").exits(0).prints(`"plugin":"player"`)
	if names, err := os.ReadFile(filepath.Join(w.state, "toolhost", "plugins.json")); err == nil && strings.Contains(string(names), "play") {
		t.Errorf("the names are remembered: %s", names)
	}
}

// What cannot be used is said, with the file and what to do.
func TestPluginFileThatIsNone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.place("player", "player")
	w.place("chatty", "chatty")
	w.place("quitter", "quitter")
	w.write("text", "no program")
	open := filepath.Join(w.root, "open")
	require.NoError(t, os.Mkdir(open, 0o700))
	require.NoError(t, os.Link(filepath.Join(built.dir, "player"), filepath.Join(open, "player")))
	require.NoError(t, os.Chmod(open, 0o777)) //nolint:gosec // that is what is refused
	for _, c := range []struct {
		file   string
		status int
		says   []string
	}{
		{"none", 2, []string{"there is no file " + filepath.Join(w.root, "none"), "build the plugin"}},
		{".", 2, []string{"is a directory", "--plugin-dir"}},
		{"text", 6, []string{"cannot be a plugin: not executable", "chmod +x"}},
		{"chatty", 6, []string{`printed "hello" to standard output before its handshake`, "dev verify"}},
		{"quitter", 6, []string{"plugin quitter did not start", "no license", "dev verify"}},
		{"open/player", 6, []string{"others may write to " + open, "chmod go-w"}},
		{"/dev/null", 2, []string{"is not a regular file"}},
	} {
		w.bare("call", "--plugin", c.file, "play.echo").exits(c.status).says(c.says...)
	}
	w.bare("call", "--plugin", "player", "--plugin-dir", w.plugins, "play.echo").exits(2).says("--plugin-dir has no effect with --plugin")
	w.bare("call", "--plugin", "player", "--session", "a", "play.echo").exits(2).says("--session has no effect with --plugin")
	w.bare("serve", "--plugin", "player").exits(2).says("--plugin has no effect without --mcp")
}

// A lock counts for a file that was named if the configuration requires it.
func TestPluginFileAndLock(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "fs")
	w.place("player", "player")
	w.configure("log_level: warn")
	w.run("plugins", "lock", "--config", w.config(), "--yes").exits(0)
	call := []string{"call", "--plugin", "player", "--config", w.config(), "play.echo"}
	w.bare(call...).exits(0)
	w.configure("lock: required")
	w.bare(call...).exits(6).says("player", "toolhost.lock")
}

// Any plugin's binary is an MCP server, with the whole chain between it and the client.
func TestPluginFileServesMCP(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "fs")
	w.place("player", "player")
	w.env = append(w.env, "TOOLHOST_PLUGIN_DIR="+w.plugins)
	stdio := w.agentOf(w.command("serve", "--mcp", "stdio", "--plugin", "./player"), "2025-11-25", nil)
	daemon := &serving{w: w, cmd: w.command("serve", "--mcp", "http", "--listen", "127.0.0.1:0", "--plugin", "./player"), lines: make(chan string, 1000)}
	daemon.start()
	daemon.await("MCP on ")
	f := &front{daemon, servedAt.FindStringSubmatch(daemon.said[len(daemon.said)-1])[1]}
	for way, c := range map[string]*mcp.ClientSession{"stdio": stdio, "http": f.connect(w.token("agent"), nil)} {
		names := toolsOf(t, c)
		if !slices.Contains(names, "play_echo") || slices.Contains(names, "fs_read") {
			t.Errorf("%s: the tools are %q", way, names)
		}
		r, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "play_echo", Arguments: json.RawMessage(`{"text":"by MCP"}`)})
		if err != nil || r.IsError {
			t.Fatalf("%s: %+v, %v", way, r, err)
		}
		if text, ok := r.Content[0].(*mcp.TextContent); !ok || text.Text != `{"text":"by MCP"}` {
			t.Errorf("%s: it answers %+v", way, r.Content[0])
		}
		r, err = c.CallTool(t.Context(), &mcp.CallToolParams{Name: "play_danger", Arguments: json.RawMessage(`{}`)})
		if err != nil || !r.IsError {
			t.Errorf("%s: a dangerous tool runs without a yes: %+v, %v", way, r, err)
		}
	}
	lines := w.run("audit", "--tool", "play.echo", "--json").exits(0).stdout
	for _, want := range []string{`"caller":"mcp","via":"mcp"`, `"caller":"agent","via":"mcp"`} {
		assert.Containsf(t, lines, want, "on record")
	}
}
