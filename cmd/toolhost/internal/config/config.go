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

// Config is what a toolhost.yaml says, with every default filled in. It is not changed after it was
// read. Paths are absolute. The comments of the fields are what the reference says of the settings.
type Config struct {
	// File is the path that was read.
	File string `json:"-"`

	// PluginDirs are directories of plugin binaries, in the order in which plugins get the names they claim. Default:
	// plugins next to the program, then the user's data directory.
	PluginDirs []string `json:"plugin_dirs,omitempty" is:"path" example:"plugins"`
	// Root is the workspace that plugins work on. Default: the current directory.
	Root string `json:"root,omitempty" is:"path" example:"workspace"`
	// Lock is the lock file, which pins plugins to their bytes. required runs nothing without the toolhost.lock next
	// to this file, off ignores it, and a path names another file, which is then required. Default: the toolhost.lock
	// next to this file, required once it has been seen.
	Lock string `json:"lock,omitempty" is:"path" words:"required off" example:"required | off | pins/toolhost.lock"`
	// Trust is whose plugins run. The publishers of packages sign them with minisign; what their keys sign, and how
	// much it may declare, is up to you. A wrong signature is always refused. It is about plugins in any plugin
	// directory, not about MCP servers.
	Trust Trust `json:"trust"`
	// HoldNew says whether plugins that were never enabled are held, that is listed and not run, until toolhost
	// plugins enable.
	HoldNew bool `json:"hold_new" example:"true"`
	// LogLevel is what is logged on standard error: trace, debug, info, warn, error or off.
	LogLevel string `json:"log_level" enum:"trace,debug,info,warn,error,off" default:"warn"`
	// Socket is the Unix socket on which the daemon listens for the other commands. Default: a path in the user's
	// runtime directory.
	Socket string `json:"socket,omitempty" is:"path" example:"run/toolhost.sock"`
	// CacheDir is where the host remembers what plugins say about themselves, private to the user. Default: a
	// directory in the user's cache.
	CacheDir string `json:"cache_dir,omitempty" is:"path" example:"cache"`
	// InstallDir is the directory of toolhost's own to which it installs plugins. They are served besides those of
	// plugin_dirs. Default: toolhost/installed in the user's data directory.
	InstallDir string `json:"install_dir,omitempty" is:"path" example:"installed"`
	// Audit is the audit log, a record of calls.
	Audit Audit `json:"audit"`
	// Metrics is where a daemon serves numbers for Prometheus, besides its socket. Every user of this
	// machine can read them there.
	Metrics Metrics `json:"metrics"`
	// Telemetry is where spans of calls are sent, as OpenTelemetry's traces. Its variables hold where this says
	// nothing, and OTEL_SDK_DISABLED=true turns it off.
	Telemetry Telemetry `json:"telemetry"`
	// MCP is how toolhost serve --mcp http serves the tools to MCP clients. Each client needs a token: one
	// of toolhost tokens new, or one of the issuer under oidc.
	MCP MCP `json:"mcp"`
	// Approvals is how people are asked for approval.
	Approvals Approvals `json:"approvals"`
	// Sessions are named sessions (toolhost call --session NAME), in which plugins of the daemon keep state
	// over several commands.
	Sessions Sessions `json:"sessions"`
	// Defaults are settings of all plugins, which plugins that are named under plugins may override.
	Defaults Plugin `json:"defaults" without:"arguments,config"`
	// Plugins are settings of single plugins, by the names of their files without toolhost-plugin- in front and .exe
	// at the end.
	Plugins map[string]Plugin `json:"plugins,omitempty" key:"plugin_name"`
	// Servers are MCP servers whose tools are served as NAME.TOOL, by the names that you give them. In their texts
	// ${NAME} is the value of a variable and ${NAME:-text} has a default; a variable that is not set costs that server
	// only. A tool is dangerous until you say otherwise under tools.
	Servers map[string]Server `json:"mcp_servers,omitempty" key:"server_name"`
	// Tools are what you decide about single tools, by the names that their plugins give them. It replaces what the
	// plugins claim.
	Tools map[string]Tool `json:"tools,omitempty" key:"tool_name"`
	// Callers are what you decide about callers, by name: their grants, rates and bounds hold over all their commands,
	// and the audit log names them. The user who runs the daemon or the command is cli; other users are those named by
	// uid. An MCP client is the caller of its token, and on standard input the caller mcp. A caller that is not named
	// holds no capability, sees all tools, and is asked.
	Callers map[string]Caller `json:"callers,omitempty" key:"caller_name"`
	// NATS is how the daemon (toolhost serve) meets other hosts over NATS, in a fleet. By default it meets none,
	// shares no tool and mounts none. Hosts know each other by their keys (toolhost fleet key): those with the same
	// key, and those under peers.
	NATS NATS `json:"nats"`

	digest [sha256.Size]byte // of the file's content
	places map[string]place
	src    func() *source // a function, as the text has secrets in it that printing would follow a pointer to
}

// Trust says whose plugins run.
type Trust struct {
	// Required says whether a plugin runs only if one of the publishers has signed it. Signatures are in .signed in
	// the plugin directory; toolhost plugins install puts them there.
	Required bool `json:"required" example:"true"`
	// Publishers are publishers by the names that you give them.
	Publishers map[string]host.Publisher `json:"publishers,omitempty" key:"publisher_name"`
}

// Audit configures the audit log.
type Audit struct {
	// Path is the file of the log, or off to keep none. Default: a file in the user's state directory.
	Path string `json:"path,omitempty" is:"path" words:"off" example:"audit.jsonl"`
	// Required refuses calls of tools at or above this level (safe, cautious, dangerous) if the log
	// cannot be written, as on a full disk. none refuses no call.
	Required tool.Safety `json:"required" enum:"safe,cautious,moderate,dangerous,none" words:"none="`
	// MaxSize is how large a file of the log grows before the next one is begun, 64KiB to 1024GiB.
	MaxSize int64 `json:"max_size" is:"size" minimum:"64KiB" maximum:"1024GiB" default:"64MiB" example:"256MiB"`
	// MaxFiles is how many full files are kept, 1 to 900; the oldest are deleted.
	MaxFiles int `json:"max_files" minimum:"1" maximum:"900" default:"8" example:"100"`
	// MaxAge is how long lines are kept, 1h to 876000h, or never to delete none for their age. Whole files are
	// deleted, when a call is recorded, so a line may be kept a quarter longer. max_size and max_files hold too.
	MaxAge time.Duration `json:"max_age" minimum:"1h" maximum:"876000h" words:"never=0" example:"720h"`
}

// Metrics says where a daemon serves numbers, besides its socket.
type Metrics struct {
	// Address is a loopback address with a port. Default: none.
	Address string `json:"address,omitempty" is:"loopback" example:"127.0.0.1:9464"`
	// Profiles says whether /debug/pprof/ is served there, too.
	Profiles bool `json:"profiles" example:"true"`
}

// Telemetry says where spans of calls are sent, and which.
type Telemetry struct {
	// Endpoint is the URL of a collector that takes OTLP over HTTP, to which v1/traces is added. Default: that of
	// OTEL_EXPORTER_OTLP_TRACES_ENDPOINT or OTEL_EXPORTER_OTLP_ENDPOINT, else nothing is sent.
	Endpoint Address `json:"endpoint,omitempty" is:"collector" example:"http://127.0.0.1:4318"`
	// Headers are headers of every request to the collector. Each is a value, {from_env: NAME} or {from_file: PATH}.
	// Values are never shown again. Default: those of OTEL_EXPORTER_OTLP_HEADERS.
	Headers Environment `json:"headers,omitempty" key:"header_name" is:"variable" example:"{\"Authorization\": {\"from_file\": \"secrets/collector\"}}"`
	// Sample is of how many traces one is sent, 1 to 1000000, besides calls that fail or are slow. What its caller did
	// not sample is left out. Default: as OTEL_TRACES_SAMPLER says, else 1.
	Sample int `json:"sample,omitempty" minimum:"1" maximum:"1000000" example:"100"`
	// SlowerThan is how long a call may take before it is sent whatever sample says, 1ms to 24h.
	SlowerThan time.Duration `json:"slower_than" minimum:"1ms" maximum:"24h" default:"1s" example:"300ms"`
	// Arguments says whether spans have the arguments and the text of the results, redacted as in the audit log.
	Arguments bool `json:"arguments" example:"true"`
}

// Words that take the place of a path.
const (
	LockRequired = "required" // nothing runs without the lock next to the file
	LockOff      = "off"      // plugins run whatever their bytes
	AuditOff     = "off"      // no log is kept
)

// Approvals says how people are asked for approval.
type Approvals struct {
	// Timeout is how long a question waits for an answer before it counts as a no, 1s to 24h.
	Timeout time.Duration `json:"timeout" minimum:"1s" default:"5m" example:"1m"`
	// Ask names those who are asked about calls that need approval, in this order, the first that can be: client is
	// the program that makes the call, which asks its user (an MCP client, or a command on its terminal), terminal the
	// terminal on which toolhost itself runs, and queue the daemon's queue, which you answer with toolhost approvals.
	Ask []Asker `json:"ask" is:"asker" default:"client" example:"client,queue"`
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

// Tool is what you decide about one tool. What is not set here is as the plugin claims.
type Tool struct {
	host.Override
	// Ask names those who are asked about its calls, as in approvals.ask, whoever calls. Default: as the caller's.
	Ask []Asker `json:"ask,omitempty" is:"asker" example:"queue"`
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
	// IdleTime is how long a session may go without a call before it ends, 1s to 8760h, or never.
	IdleTime time.Duration `json:"idle_time" minimum:"1s" maximum:"8760h" words:"never=0" default:"1h" example:"8h"`
	// Max is how many sessions each caller may have at a time, 1 to 1000.
	Max int `json:"max" minimum:"1" maximum:"1000" default:"16" example:"4"`
}

// Plugin is settings of one plugin. What is not set here is as under defaults.
//
// Its Env is empty: [Environment] has to be resolved.
type Plugin struct {
	plugin.Settings
	// Environment are variables that the plugin gets in addition to the few that every plugin gets from the host
	// (PATH, HOME, TMPDIR, LANG, TZ, XDG_CACHE_HOME, GO*). Each is a value, {from_env: NAME} or {from_file: PATH}.
	// Values are never shown again. Variables of defaults are added if the plugin does not set the same names.
	Environment Environment `json:"environment,omitempty" key:"variable_name" is:"variable" example:"{\"LOG_FORMAT\": \"json\", \"API_TOKEN\": {\"from_env\": \"EXAMPLE_API_TOKEN\"}}"`
}

// Default returns what an empty file says.
func Default() *Config {
	nothing := sourceOf("", "", []string{""})
	c := &Config{src: func() *source { return nothing }}
	c.setDefaults()
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
