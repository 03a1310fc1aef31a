package config

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"time"

	"github.com/toolhost/toolhost/host/plugin"
)

// Server is an MCP server whose tools are mounted, as a file has it: its texts name
// variables, which [Server.Resolve] replaces. It prints no secret.
type Server struct {
	// Command is a program that speaks MCP on its standard input and output. Default:
	// empty, and there is a URL.
	Command string `json:"command,omitempty"`
	// Args are its arguments. Default: none.
	Args Arguments `json:"args,omitempty"`
	// Env holds variables of its environment. Default: none.
	Env Environment `json:"env,omitempty"`
	// EnvFile is a file of more variables. Default: empty, none.
	EnvFile string `json:"env_file,omitempty"`
	// Dir is its working directory. Default: empty, the workspace.
	Dir string `json:"cwd,omitempty"`
	// URL is where the server is, if no program is run. Default: empty.
	URL Address `json:"url,omitempty"`
	// Headers are sent with each request to the URL. Default: none.
	Headers Environment `json:"headers,omitempty"`
	// Transport is what the URL speaks. Default: [TransportHTTP].
	Transport Transport `json:"transport"`
	// OAuth says how to log in to the URL.
	OAuth OAuth `json:"oauth"`
	// Include are patterns of tools to mount, by the server's names. Default: all.
	Include []string `json:"include,omitempty"`
	// Exclude are patterns of tools not to mount. Default: none.
	Exclude []string `json:"exclude,omitempty"`

	// The following are those of [plugin.Settings].
	Enabled      bool                 `json:"enabled"`
	Namespace    plugin.Namespace     `json:"namespace"`
	Sandbox      plugin.Sandbox       `json:"sandbox"`
	IdleTimeout  time.Duration        `json:"idle_time"`
	StartTimeout time.Duration        `json:"start_timeout"` // default: 1m
	CallTimeout  time.Duration        `json:"call_timeout"`
	MaxTimeout   time.Duration        `json:"max_timeout"`
	Limits       plugin.Limits        `json:"limits"`
	Restart      plugin.RestartPolicy `json:"restart"`

	// Base is what relative paths are relative to, absolute. Default: empty, the workspace.
	Base string `json:"-"`
}

// Transport is what a URL speaks.
type Transport string

// The transports.
const (
	TransportHTTP Transport = "http" // streamable HTTP
	TransportSSE  Transport = "sse"  // that of the revision 2024-11-05
)

// OAuth says how to log in to a server.
type OAuth struct {
	// ClientID is a client that is registered with the authorization server. Default:
	// empty, toolhost registers one.
	ClientID string `json:"client_id,omitempty"`
	// ClientSecret is the secret of the client. Default: none, it is a public client.
	ClientSecret Variable `json:"client_secret,omitzero"`
	// Scopes are what to ask for. Default: what the server says that it needs.
	Scopes []string `json:"scopes,omitempty"`
	// Port is that of this machine to which the browser returns. Default: 0, any.
	Port int `json:"callback_port,omitempty"`
}

// Arguments are those of a program. They marshal with those hidden that look like secrets.
type Arguments []string

// MarshalJSON hides what looks like a secret.
func (a Arguments) MarshalJSON() ([]byte, error) { return json.Marshal(a.Shown()) }

// Address is a URL. It marshals without what looks like a secret.
type Address string

// MarshalJSON hides what looks like a secret.
func (a Address) MarshalJSON() ([]byte, error) { return json.Marshal(a.Shown()) }

// startTimeout is longer than a plugin's, because npx and uvx may have to download first.
const startTimeout = time.Minute

// NewServer returns a server that runs as the defaults say, apart from the time for a start.
func (c *Config) NewServer() Server {
	d := c.Defaults
	return Server{
		Transport: TransportHTTP, OAuth: OAuth{ClientSecret: Variable{Name: "client_secret"}},
		Enabled: d.Enabled, Namespace: d.Namespace, Sandbox: cloned(d.Sandbox), IdleTimeout: d.IdleTimeout, StartTimeout: startTimeout,
		CallTimeout: d.CallTimeout, MaxTimeout: d.MaxTimeout, Limits: d.Limits, Restart: d.Restart,
	}
}

// Settings returns how the server is run.
func (s Server) Settings() plugin.Settings {
	out := plugin.DefaultSettings()
	out.Enabled, out.Namespace, out.Sandbox = s.Enabled, s.Namespace, s.Sandbox
	out.IdleTimeout, out.StartTimeout = s.IdleTimeout, s.StartTimeout
	out.CallTimeout, out.MaxTimeout, out.Limits, out.Restart = s.CallTimeout, s.MaxTimeout, s.Limits, s.Restart
	return out
}

// Identity is a digest of what the server is, apart from what looks like a secret: a token that
// is replaced makes no other server.
func (s Server) Identity() string {
	values := func(e Environment) map[string]string {
		out := map[string]string{}
		for _, v := range e {
			out[v.Name] = v.source()
			if v.value != nil && !looksSecret(v.Name, *v.value) {
				out[v.Name] = "=" + *v.value
			}
		}
		return out
	}
	text := must(json.Marshal([]any{
		s.Command, s.Args, s.Dir, s.URL, s.Transport, values(s.Env), s.EnvFile, values(s.Headers), s.Include, s.Exclude,
	}))
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}
