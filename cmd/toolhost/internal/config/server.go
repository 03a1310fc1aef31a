package config

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"time"

	"github.com/toolhost/toolhost/host/plugin"
)

// Server is an MCP server: command, or url. What is not set here is as under defaults, except for
// environment.
//
// Its texts name variables, which [Server.Resolve] replaces. It prints no secret.
type Server struct {
	// Command is the program that serves MCP on its standard input and output: a path, or a name in PATH. Not with
	// url.
	Command string `json:"command,omitempty" is:"program" example:"npx"`
	// Args are arguments of the program. Default: none.
	Args Arguments `json:"args,omitempty" example:"-y,@modelcontextprotocol/server-filesystem,${workspaceFolder}"`
	// Env are variables that the program gets in addition to the few that plugins get from the host (PATH, HOME,
	// TMPDIR, LANG, TZ, XDG_CACHE_HOME, GO*). Each is a value, in which ${NAME} is replaced, {from_env: NAME} or
	// {from_file: PATH}. Values are never shown again.
	Env Environment `json:"env,omitempty" key:"variable_name" is:"variable" example:"{\"LOG_LEVEL\": \"info\", \"API_TOKEN\": \"${EXAMPLE_API_TOKEN}\"}"`
	// EnvFile is a file of lines NAME=value with more variables; those of env take precedence. Other users must not be
	// able to write to it.
	EnvFile string `json:"env_file,omitempty" is:"rawpath" example:"secrets/example.env"`
	// Dir is the working directory of the program. Default: the workspace.
	Dir string `json:"cwd,omitempty" is:"rawpath" example:"${workspaceFolder}/site"`
	// URL is where the server is, if no program is to be run.
	URL Address `json:"url,omitempty" is:"url" example:"https://mcp.example.com/mcp"`
	// Headers are headers of every request to the url. Each is a value, in which ${NAME} is replaced, {from_env: NAME}
	// or {from_file: PATH}. Values are never shown again.
	Headers Environment `json:"headers,omitempty" key:"header_name" is:"variable" example:"{\"Authorization\": \"Bearer ${EXAMPLE_API_TOKEN}\"}"`
	// Transport is what the url speaks: http is streamable HTTP, sse the transport of servers before 2025.
	Transport Transport `json:"transport" enum:"http,sse" default:"http"`
	// OAuth is how toolhost plugins login NAME logs in to the url. Servers that register clients themselves need
	// none of it.
	OAuth OAuth `json:"oauth"`
	// Include are the tools to mount, by the names that the server gives them. * stands for any characters. Default:
	// all.
	Include []string `json:"include,omitempty" is:"server_tool" example:"read_*"`
	// Exclude are tools not to mount although they are included. Default: none.
	Exclude []string `json:"exclude,omitempty" is:"server_tool" example:"delete_*"`

	// Questions are what the server may ask of whoever calls one of its tools.
	Questions Questions `json:"questions"`
	// Revision is the revision of MCP to begin with. automatic is the newest, or 2025-11-25 where questions need a
	// session.
	Revision string `json:"revision" enum:"automatic,2025-03-26,2025-06-18,2025-11-25,2026-07-28" default:"automatic" example:"2025-11-25"`
	// Arguments says whether arguments are checked against the tools' schemas. unchecked leaves that to the server, within
	// bounds of size.
	Arguments ArgumentCheck `json:"arguments" enum:"checked,unchecked" default:"checked" example:"unchecked"`

	plugin.Settings `without:"arguments,config,carrier,previews,ask_timeout,spare"` // which are of plugins alone

	// Base is what relative paths are relative to, absolute. Default: empty, the workspace.
	Base string `json:"-"`
}

// Questions are the kinds of questions that a server may ask.
type Questions struct {
	// Elicitation says whether the server may ask the person who uses it. The question says which server asks.
	Elicitation bool `json:"elicitation" default:"true" example:"false"`
	// Sampling says whether the server may have the model of the MCP client answer, at the client's cost.
	Sampling bool `json:"sampling" default:"false" example:"true"`
	// Roots says whether the server is told the directories that the MCP client works in.
	Roots bool `json:"roots" default:"true" example:"false"`
}

// Automatic is the revision of a server for which none is named.
const Automatic = "automatic"

// ArgumentCheck says who checks arguments.
type ArgumentCheck string

// Unchecked arguments are checked by the server alone.
const Unchecked ArgumentCheck = "unchecked"

// Transport is what a URL speaks.
type Transport string

// The transports.
const (
	TransportHTTP Transport = "http" // streamable HTTP
	TransportSSE  Transport = "sse"  // that of the revision 2024-11-05
)

// OAuth says how to log in to a server.
type OAuth struct {
	// ClientID is the client that you registered with the server's authorization server. Default: toolhost registers
	// itself.
	ClientID string `json:"client_id,omitempty" is:"client" example:"toolhost"`
	// ClientSecret is the secret of client_id, if it has one: a value, in which ${NAME} is replaced, {from_env: NAME}
	// or {from_file: PATH}. Default: the client is public.
	ClientSecret Variable `json:"client_secret,omitzero" is:"variable" example:"${EXAMPLE_CLIENT_SECRET}"`
	// Issuer is the authorization server, by the URL that its metadata has: it alone gets client_secret and what a
	// login sends. Needed with client_secret. Default: the one that the server names, if all that a login sends goes
	// to its own site.
	Issuer string `json:"issuer,omitempty" is:"issuer" example:"https://login.example.com"`
	// Port is the port of http://127.0.0.1:PORT/callback, to which the browser returns, for clients that are
	// registered with one. Default: any that is free.
	Port int `json:"callback_port,omitempty" title:"a port" minimum:"1" maximum:"65535" example:"8123"`
	// Scopes are what to ask for. Default: what the server says it needs.
	Scopes []string `json:"scopes,omitempty" is:"scope" example:"read"`
}

// Arguments are those of a program. They marshal with those hidden that look like secrets.
type Arguments []string

// MarshalJSON hides what looks like a secret.
func (a Arguments) MarshalJSON() ([]byte, error) { return json.Marshal(a.Shown()) }

// Address is a URL. It marshals without what looks like a secret.
type Address string

// MarshalJSON hides what looks like a secret.
func (a Address) MarshalJSON() ([]byte, error) { return json.Marshal(a.Shown()) }

// NewServer returns a server that runs as the defaults say, apart from the time for a start, which is
// longer, because npx and uvx may have to download first.
func (c *Config) NewServer() Server {
	var s Server
	s.setDefaults()
	all, none := c.Defaults.Settings, plugin.DefaultSettings()
	s.Settings, s.Sandbox, s.StartTimeout = all, cloned(all.Sandbox), time.Minute
	s.Carrier, s.Previews, s.AskTimeout = none.Carrier, none.Previews, none.AskTimeout // as no server has them
	s.OAuth.ClientSecret.Name = "client_secret"
	return s
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
