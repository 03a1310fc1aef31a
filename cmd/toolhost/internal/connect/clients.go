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

// Server is the name of the entry.
const Server = "toolhost"

// Client is an MCP client.
type Client struct {
	Name, Title string
	// Note says what the client has that others have not; empty: nothing.
	Note string

	program string   // its command; empty: it has none
	files   place    // the first that exists counts, else the first; nil: its file is not edited
	syntax  syntax   // of the file
	key     []string // what servers are below
	shape   shape
}

// Clients are the known clients. First come those whose files are edited.
var Clients = []Client{
	{
		Name: "claude", Title: "Claude Code", program: "claude", files: in("CLAUDE_CONFIG_DIR", "", ".claude.json"),
		key: []string{"mcpServers"}, shape: plain.typed("stdio", "http"),
	},
	{
		Name: "codex", Title: "Codex", program: "codex", files: in("CODEX_HOME", ".codex", "config.toml"), syntax: tomlSyntax,
		key: []string{"mcp_servers"}, shape: plain.with("url", "http_headers"),
	},
	{
		Name: "gemini", Title: "Gemini CLI", program: "gemini", files: in("GEMINI_CLI_HOME", "", ".gemini/settings.json"),
		key: []string{"mcpServers"}, shape: plain.with("httpUrl", "headers"), // its url is for SSE
	},
	{
		Name: "opencode", Title: "opencode", program: "opencode",
		files: in("XDG_CONFIG_HOME", ".config", "opencode/opencode.jsonc", "opencode/opencode.json"),
		key:   []string{"mcp"}, shape: shape{local: "local", remote: "remote", command: "command", url: "url", headers: "headers"},
	},
	{
		Name: "vscode", Title: "VS Code", program: "code", files: ofDesktop("Code/User/mcp.json"),
		key: []string{"servers"}, shape: plain.typed("stdio", "http"),
	},
	{
		Name: "cursor", Title: "Cursor", program: "cursor", files: in("", "", ".cursor/mcp.json"),
		key: []string{"mcpServers"}, shape: plain,
	},
	{
		Name: "claude-desktop", Title: "Claude Desktop", Note: "into claude_desktop_config.json (Settings, Developer)",
		key: []string{"mcpServers"}, shape: plain.with("", ""),
	},
	{
		Name: "zed", Title: "Zed", Note: "into ~/.config/zed/settings.json",
		key: []string{"context_servers"}, shape: plain,
	},
	{
		Name: "windsurf", Title: "Windsurf", Note: "into ~/.codeium/windsurf/mcp_config.json",
		key: []string{"mcpServers"}, shape: plain.with("serverUrl", "headers"),
	},
	{
		Name: "cline", Title: "Cline", Note: "into cline_mcp_settings.json (MCP Servers, Configure)",
		key: []string{"mcpServers"}, shape: plain.typed("", "streamableHttp"),
	},
	{
		Name: "goose", Title: "goose", Note: "into ~/.config/goose/config.yaml", syntax: yamlSyntax, key: []string{"extensions"},
		shape: shape{
			local: "stdio", remote: "streamable_http", command: "cmd", args: "args", url: "uri", headers: "headers",
			more: []field{{"name", Server}, {"enabled", true}, {"timeout", 300}},
		},
	},
}

// Find returns the client of a name; nil: it is not known.
func Find(name string) *Client {
	i := slices.IndexFunc(Clients, func(c Client) bool { return c.Name == name })
	if i < 0 {
		return nil
	}
	return &Clients[i]
}

// Edited reports whether the client's file is edited here.
func (c *Client) Edited() bool { return c.files != nil }

// Remote reports whether the client takes a server by its URL.
func (c *Client) Remote() bool { return c.shape.url != "" }

// File returns the file that has the client's servers, or would have them, and whether the client
// is on this machine. It is empty without a home.
func (c *Client) File() (path string, found bool) {
	all := c.files()
	if len(all) == 0 {
		return "", false
	}
	home, _ := os.UserHomeDir()
	for _, path := range all {
		if _, err := os.Lstat(path); err == nil {
			return path, true
		}
	}
	dir := filepath.Dir(all[0])
	_, err := os.Stat(dir)
	found = err == nil && dir != home
	if _, err := exec.LookPath(c.program); err == nil {
		found = true
	}
	return all[0], found
}

// place returns the paths that a file may have.
type place func() []string

// in is a directory that a variable names, else one below the home.
func in(variable, below string, names ...string) place {
	return func() (out []string) {
		dir := os.Getenv(variable)
		if home, err := os.UserHomeDir(); dir == "" && err == nil {
			dir = filepath.Join(home, below)
		}
		for _, name := range names {
			if filepath.IsAbs(dir) {
				out = append(out, filepath.Join(dir, name))
			}
		}
		return out
	}
}

// ofDesktop is the directory for settings of programs with windows.
func ofDesktop(name string) place {
	if runtime.GOOS == "darwin" {
		return in("", "Library/Application Support", name)
	}
	return in("XDG_CONFIG_HOME", ".config", name)
}

// Entry is how a client reaches a server: a command, or a URL.
type Entry struct {
	Command string
	Args    []string
	Env     map[string]string
	URL     string
	Headers map[string]string
}

// shape is how a client writes an entry: the keys that it has.
type shape struct {
	local, remote string // values of type; empty: an entry has no type
	command, args string // without args, command is a list of all words
	url, headers  string // empty: it takes no URL
	more          []field
}

type field struct {
	key   string
	value any
}

var plain = shape{command: "command", args: "args", url: "url", headers: "headers"}

func (s shape) typed(local, remote string) shape {
	s.local, s.remote = local, remote
	return s
}

func (s shape) with(url, headers string) shape {
	s.url, s.headers = url, headers
	return s
}

// write returns an entry as the client has it, in the order of its documentation.
func (s shape) write(e Entry) (out []field) {
	add := func(key string, value any) {
		if key != "" {
			out = append(out, field{key, value})
		}
	}
	if kind := map[bool]string{false: s.local, true: s.remote}[e.URL != ""]; kind != "" {
		add("type", kind)
	}
	switch {
	case e.URL != "":
		add(s.url, e.URL)
		add(s.headers, e.Headers)
	case s.args == "":
		add(s.command, append([]string{e.Command}, e.Args...))
	default:
		add(s.command, e.Command)
		add(s.args, e.Args)
	}
	return append(out, s.more...)
}

// read returns what an entry of the client says. What is of another type than it should be is left out.
func (s shape) read(entry map[string]any) (e Entry) {
	list := func(v any) (out []string) {
		all, _ := v.([]any)
		for _, v := range all {
			text, _ := v.(string)
			out = append(out, text)
		}
		return out
	}
	texts := func(v any) map[string]string {
		out := map[string]string{}
		all, _ := v.(map[string]any)
		for k, v := range all {
			out[k], _ = v.(string)
		}
		return out
	}
	if e.URL, _ = entry[s.url].(string); e.URL != "" {
		e.Headers = texts(entry[s.headers])
		return e
	}
	words := list(entry[s.command])
	if text, ok := entry[s.command].(string); ok {
		words = append([]string{text}, list(entry[s.args])...)
	}
	if len(words) > 0 {
		e.Command, e.Args = words[0], words[1:]
	}
	e.Env = texts(entry["env"])
	for k, v := range texts(entry["environment"]) { // opencode's
		e.Env[k] = v
	}
	return e
}

// keyed returns the path of the entry in a file. Files of opencode 2 have servers below mcp.servers.
func (c *Client) keyed(tree map[string]any) []string {
	path := slices.Clone(c.key)
	if mcp, ok := tree["mcp"].(map[string]any); ok && c.Name == "opencode" {
		if all, ok := mcp["servers"].(map[string]any); ok && all["type"] == nil {
			path = append(path, "servers")
		}
	}
	return append(path, Server)
}

// Snippet returns what to put into the client's file by hand.
func (c *Client) Snippet(e Entry) string {
	path := c.keyed(nil)
	if c.syntax == yamlSyntax {
		return path[0] + ":\n  " + path[1] + ": " + compact(c.shape.write(e)) + "\n"
	}
	whole, _ := c.syntax.put("", path, c.shape.write(e)) // an empty file takes everything
	return whole.text
}
