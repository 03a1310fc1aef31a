package config

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"
	"time"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Config is what a toolhost.yaml says, with every default filled in. It is not changed
// after it was read. The JSON names are the keys of the file; the schema documents them.
type Config struct {
	// File is the path that was read.
	File string `json:"-"`

	// PluginDirs are directories of plugin binaries, absolute. Default: none is named, and
	// the command chooses (--plugin-dir, TOOLHOST_PLUGIN_DIR, plugins next to the program,
	// the user's data directory).
	PluginDirs []string `json:"plugin_dirs,omitempty"`
	// InstallDir is where plugins are installed, absolute. Default: empty, a directory of the
	// user's.
	InstallDir string `json:"install_dir,omitempty"`
	// Root is the workspace, absolute. Default: empty, the current directory.
	Root string `json:"root,omitempty"`
	// CacheDir is where the host remembers what plugins say about themselves, absolute.
	// Default: empty, a directory of the user's.
	CacheDir string `json:"cache_dir,omitempty"`
	// Socket is where the daemon listens, absolute. Default: empty, a path of the user's.
	Socket string `json:"socket,omitempty"`
	// Lock is [LockRequired], [LockOff], or the absolute path of another file, which is
	// then required. Default: empty, and the toolhost.lock next to the file is required
	// once it has been seen.
	Lock string `json:"lock,omitempty"`
	// Trust says whose plugins run.
	Trust Trust `json:"trust"`
	// HoldNew keeps plugins that were never enabled from running. Default: false.
	HoldNew bool `json:"hold_new"`
	// LogLevel is trace, debug, info, warn, error or off. Default: warn.
	LogLevel string `json:"log_level"`
	// Audit configures the audit log.
	Audit Audit `json:"audit"`
	// Metrics says where a daemon serves numbers, besides its socket.
	Metrics Metrics `json:"metrics"`
	// MCP says how the tools are served to MCP clients.
	MCP MCP `json:"mcp"`
	// Approvals says how people are asked for approval.
	Approvals Approvals `json:"approvals"`
	// Sessions bounds named sessions.
	Sessions Sessions `json:"sessions"`
	// Defaults are the settings of plugins that are not named.
	Defaults Plugin `json:"defaults"`
	// Plugins are the settings of named plugins, with Defaults filled in.
	Plugins map[string]Plugin `json:"plugins,omitempty"`
	// Servers are the MCP servers that are mounted, by name.
	Servers map[string]Server `json:"mcp_servers,omitempty"`
	// Tools is what the operator decides about tools, by the names that plugins give them.
	Tools map[string]Tool `json:"tools,omitempty"`
	// Callers is what the operator decides about callers, such as cli.
	Callers map[string]Caller `json:"callers,omitempty"`
	// NATS is what a daemon does in a fleet.
	NATS NATS `json:"nats"`

	digest [sha256.Size]byte // of the file's content
	places map[string]place
	src    func() *source // a function, as the text has secrets in it that printing would follow a pointer to
}

// Trust says whose plugins run.
type Trust struct {
	// Required runs only plugins that a publisher has signed. Default: false.
	Required bool `json:"required"`
	// Publishers are those who are trusted, by name. Default: none.
	Publishers map[string]host.Publisher `json:"publishers,omitempty"`
}

// Audit configures the audit log.
type Audit struct {
	// Path is the file, absolute, or [AuditOff]. Default: empty, a file of the user's.
	Path string `json:"path,omitempty"`
	// Required refuses calls of tools at or above a level if the log cannot be written.
	// Default: [tool.Unset], which refuses no call.
	Required tool.Safety `json:"required"`
	// MaxSize is how large a file grows, in bytes. Default: 64 MiB.
	MaxSize int64 `json:"max_size"`
	// MaxFiles is how many full files are kept. Default: 8.
	MaxFiles int `json:"max_files"`
	// MaxAge is how long lines are kept; 0: any time. Default: 0.
	MaxAge time.Duration `json:"max_age"`
}

// Metrics says where a daemon serves numbers, besides its socket.
type Metrics struct {
	// Address is a loopback address with a port. Default: empty, none.
	Address string `json:"address,omitempty"`
	// Profiles serves /debug/pprof/ there, too. Default: false.
	Profiles bool `json:"profiles"`
}

// Words that take the place of a path.
const (
	LockRequired = "required" // nothing runs without the lock next to the file
	LockOff      = "off"      // plugins run whatever their bytes
	AuditOff     = "off"      // no log is kept
)

// Approvals says how people are asked for approval.
type Approvals struct {
	// Timeout is how long a question waits for an answer before it counts as a no.
	// Default: 5m.
	Timeout time.Duration `json:"timeout"`
	// Ask is who is asked, unless the tool or the caller says otherwise: the first that can be.
	// Default: [AskClient].
	Ask []Asker `json:"ask"`
}

// Asker is who is asked about a call that needs approval.
type Asker string

// The askers.
const (
	// AskClient is the program that makes the call: an MCP client shows the question to its user,
	// and a command asks on its terminal.
	AskClient Asker = "client"
	// AskTerminal is the terminal on which this process runs.
	AskTerminal Asker = "terminal"
	// AskQueue is the queue of the daemon, which the operator answers with toolhost approvals.
	AskQueue Asker = "queue"
)

// Tool is what the operator decides about a tool.
type Tool struct {
	host.Override
	// Ask is who is asked about its calls. Default: none, who is asked about the caller's.
	Ask []Asker `json:"ask,omitempty"`
}

// Overrides returns what a host is told of tools.
func (c *Config) Overrides() map[string]host.Override {
	out := make(map[string]host.Override, len(c.Tools))
	for name, t := range c.Tools {
		out[name] = t.Override
	}
	return out
}

// Asked returns who is asked about a caller's calls of a tool, by the name that callers see: in
// this order, the first that can be. What is said of the tool goes before what is said of the caller.
func (c *Config) Asked(of Caller, seen string) []Asker {
	for name, t := range c.Tools {
		if cmp.Or(t.Name, name) == seen && len(t.Ask) > 0 {
			return t.Ask
		}
	}
	if len(of.Ask) > 0 {
		return of.Ask
	}
	return c.Approvals.Ask
}

// Sessions bounds named sessions.
type Sessions struct {
	// IdleTime is how long a session may go without a call before it ends; 0: any time.
	// Default: 1h.
	IdleTime time.Duration `json:"idle_time"`
	// Max is how many sessions each caller may have. Default: 16.
	Max int `json:"max"`
}

// Plugin is how a plugin is run. Its Env is empty: [Environment] has to be resolved.
type Plugin struct {
	plugin.Settings
	// Environment holds the variables. Those of the defaults are in it if the plugin does
	// not set the same names.
	Environment Environment `json:"environment,omitempty"`
}

// Default returns what an empty file says.
func Default() *Config {
	nothing := &source{lines: []string{""}, hidden: []int{-1}}
	c := &Config{
		LogLevel: "warn", Approvals: Approvals{Timeout: 5 * time.Minute, Ask: []Asker{AskClient}},
		Audit:    Audit{MaxSize: 64 << 20, MaxFiles: 8},
		Sessions: Sessions{IdleTime: time.Hour, Max: 16},
		MCP:      defaultMCP(), NATS: NATS{MaxCalls: 1024},
		Defaults: Plugin{Settings: plugin.DefaultSettings()},
		src:      func() *source { return nothing },
	}
	c.Defaults.IdleTimeout = 10 * time.Minute
	return c
}

// decode fills c with what a file says.
func (c *Config) decode(file map[string]any) error {
	plugins, _ := file["plugins"].(map[string]any)
	servers, _ := file["mcp_servers"].(map[string]any)
	delete(file, "plugins")
	delete(file, "mcp_servers")
	if err := decode(file, c); err != nil {
		return err
	}
	c.Plugins = make(map[string]Plugin, len(plugins))
	for _, name := range slices.Sorted(maps.Keys(plugins)) {
		p := c.Defaults
		p.Sandbox = cloned(p.Sandbox)
		if err := decode(plugins[name], &p); err != nil {
			return err
		}
		c.Plugins[name] = p
	}
	c.Servers = make(map[string]Server, len(servers))
	for _, name := range slices.Sorted(maps.Keys(servers)) {
		s := c.NewServer()
		if err := decode(servers[name], &s); err != nil {
			return err
		}
		s.Base = c.src().dir
		c.Servers[name] = s
	}
	return nil
}

func decode(from, to any) error {
	text, err := json.Marshal(from)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, to)
}

// Plugin returns the settings of the plugin of that name.
func (c *Config) Plugin(name string) Plugin {
	if p, ok := c.Plugins[name]; ok {
		return p
	}
	return c.Defaults
}

// Digest identifies the content of the file, byte for byte; empty: no file was read.
func (c *Config) Digest() string {
	if c.File == "" {
		return ""
	}
	return hex.EncodeToString(c.digest[:])
}
