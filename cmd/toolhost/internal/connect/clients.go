// Package connect puts this program into the files where MCP clients keep their servers, and takes it
// out again. What others wrote there stays, byte for byte. Begin with [Find].
package connect

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
)

const server = "toolhost" // the name of the entry

// Client is an MCP client.
type Client struct {
	Name, Title string
	// Hint says where to put what is printed, if the file is not edited here.
	Hint string

	program string   // its command
	home    string   // the variable that names its directory
	dir     string   // else this one below the user's home
	files   []string // in it: the first that exists counts, else the first; none: its file is not edited
	syntax  syntax
	key     string // what servers are below
	keys    keys
}

// keys are what an entry has.
type keys struct {
	stdio, http   string // values of type; empty: an entry has no type
	command, args string // without args, command is a list of all words
	url, headers  string // empty: the client takes no URL
	pass          string // names the variables that a server gets; empty: it gets all that the client has
}

var plain = keys{command: "command", args: "args", url: "url", headers: "headers"}

func (k keys) typed(stdio, http string) keys { k.stdio, k.http = stdio, http; return k }
func (k keys) with(url, headers string) keys { k.url, k.headers = url, headers; return k }
func (k keys) passing(key string) keys       { k.pass = key; return k }

// Clients are the known clients. First come those whose files are edited.
var Clients = []Client{
	{"claude", "Claude Code", "", "claude", "CLAUDE_CONFIG_DIR", "", []string{".claude.json"}, inJSON, "mcpServers", plain.typed("stdio", "http")},
	{"codex", "Codex", "", "codex", "CODEX_HOME", ".codex", []string{"config.toml"}, inTOML, "mcp_servers", plain.with("url", "http_headers").passing("env_vars")},
	// The url of Gemini CLI is for SSE.
	{"gemini", "Gemini CLI", "", "gemini", "GEMINI_CLI_HOME", "", []string{".gemini/settings.json"}, inJSON, "mcpServers", plain.with("httpUrl", "headers")},
	{
		"opencode", "opencode", "", "opencode", "XDG_CONFIG_HOME", ".config", []string{"opencode/opencode.jsonc", "opencode/opencode.json"},
		inJSON, "mcp", keys{"local", "remote", "command", "", "url", "headers", ""},
	},
	{"vscode", "VS Code", "", "code", "XDG_CONFIG_HOME", ".config", []string{"Code/User/mcp.json"}, inJSON, "servers", plain.typed("stdio", "http")},
	{"cursor", "Cursor", "", "cursor", "", "", []string{".cursor/mcp.json"}, inJSON, "mcpServers", plain},
	{"claude-desktop", "Claude Desktop", "claude_desktop_config.json (Settings, Developer)", "", "", "", nil, inJSON, "mcpServers", plain.with("", "")},
	{"zed", "Zed", "~/.config/zed/settings.json", "", "", "", nil, inJSON, "context_servers", plain},
	{"windsurf", "Windsurf", "~/.codeium/windsurf/mcp_config.json", "", "", "", nil, inJSON, "mcpServers", plain.with("serverUrl", "headers")},
	{"cline", "Cline", "cline_mcp_settings.json (MCP Servers, Configure)", "", "", "", nil, inJSON, "mcpServers", plain.typed("", "streamableHttp")},
	{"goose", "goose", "~/.config/goose/config.yaml", "", "", "", nil, inYAML, "extensions", keys{"stdio", "streamable_http", "cmd", "args", "uri", "headers", ""}},
}

// Find returns the client of a name; nil: it is not known.
func Find(name string) *Client {
	if i := slices.IndexFunc(Clients, func(c Client) bool { return c.Name == name }); i >= 0 {
		return &Clients[i]
	}
	return nil
}

// Edited reports whether the client's file is edited here.
func (c *Client) Edited() bool { return c.files != nil }

// Remote reports whether the client takes a server by its URL.
func (c *Client) Remote() bool { return c.keys.url != "" }

// File returns the file that has the client's servers, or would have them, and whether the client is on this machine.
func (c *Client) File() (path string, found bool) {
	home, _ := os.UserHomeDir()
	dir := filepath.Join(home, c.dir)
	if named := os.Getenv(c.home); filepath.IsAbs(named) {
		dir = named
	}
	if c.Name == "vscode" && runtime.GOOS == "darwin" {
		dir = filepath.Join(home, "Library", "Application Support")
	}
	for _, name := range c.files {
		if _, err := os.Lstat(filepath.Join(dir, name)); err == nil {
			return filepath.Join(dir, name), true
		}
	}
	path = filepath.Join(dir, c.files[0])
	_, bad := os.Stat(filepath.Dir(path))
	_, err := exec.LookPath(c.program)
	return path, err == nil || bad == nil && filepath.Dir(path) != home
}

// Entry is how a client reaches a server: a command, or a URL.
type Entry struct {
	Command string
	Args    []string
	Pass    []string // variables that it needs
	Env     map[string]string
	URL     string
	Headers map[string]string
}

type field struct {
	key   string
	value any
}

// write returns an entry as the client has it.
func (c *Client) write(e Entry) []field {
	k := c.keys
	kind, out := k.stdio, []field{{k.command, e.Command}, {k.args, e.Args}}
	switch {
	case e.URL != "":
		kind, out = k.http, []field{{k.url, e.URL}, {k.headers, e.Headers}}
	case k.args == "":
		out = []field{{k.command, append([]string{e.Command}, e.Args...)}}
	case k.pass != "" && len(e.Pass) > 0:
		out = append(out, field{k.pass, e.Pass})
	}
	if kind != "" {
		out = append([]field{{"type", kind}}, out...)
	}
	if c.syntax == inYAML {
		out = append(out, field{"name", server}, field{"enabled", true}, field{"timeout", 300})
	}
	return out
}

// read returns what an entry of the client says. What is of another type than it should be is left out.
func (c *Client) read(entry map[string]any) (e Entry) {
	texts := func(key string) map[string]string {
		out := map[string]string{}
		all, _ := entry[key].(map[string]any)
		for k, v := range all {
			out[k], _ = v.(string)
		}
		return out
	}
	var words []string
	for _, v := range []any{entry[c.keys.command], entry[c.keys.args]} {
		list, ok := v.([]any)
		if !ok && v != nil {
			list = []any{v}
		}
		for _, word := range list {
			text, _ := word.(string)
			words = append(words, text)
		}
	}
	e.URL, _ = entry[c.keys.url].(string)
	e.Headers, e.Env = texts(c.keys.headers), texts("env")
	if c.keys.args == "" {
		e.Env = texts("environment")
	}
	if len(words) > 0 {
		e.Command, e.Args = words[0], words[1:]
	}
	return e
}

// path returns where the entry is in a file. Files of opencode 2 have servers below mcp.servers.
func (c *Client) path(tree map[string]any) []string {
	if all := find(tree, []string{"mcp", "servers"}); c.Name == "opencode" && all != nil && all["type"] == nil {
		return []string{"mcp", "servers", server}
	}
	return []string{c.key, server}
}

// Snippet returns what to put into the client's file by hand.
func (c *Client) Snippet(e Entry) string {
	if c.syntax == inYAML { // which has JSON in it
		return c.key + ":\n  " + server + ": " + compact(c.write(e)) + "\n"
	}
	whole, _ := c.syntax.put("", c.path(nil), c.write(e)) // an empty file takes everything
	return whole.text
}
