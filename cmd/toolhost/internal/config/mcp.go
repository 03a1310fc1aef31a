package config

import (
	"slices"
	"time"
)

// MCP says how the tools are served to MCP clients over HTTP.
type MCP struct {
	// Listen is the address, unless a flag names one. Default: 127.0.0.1:7411.
	Listen string `json:"listen"`
	// URL is how clients reach the server. Default: empty, by the address.
	URL string `json:"url,omitempty"`
	// Hosts are names that requests may have in Host, besides those of the address and of
	// URL. Default: none.
	Hosts []string `json:"hosts,omitempty"`
	// Origins are those of web pages that may use the server. Default: none.
	Origins []string `json:"origins,omitempty"`
	// TLS is the certificate. Default: none, so that only loopback is served.
	TLS TLS `json:"tls"`
	// OIDC is an issuer whose tokens count. Default: none.
	OIDC OIDC `json:"oidc"`
	// Limits bound the server.
	Limits MCPLimits `json:"limits"`
	// Tasks are calls whose clients come back for the result.
	Tasks MCPTasks `json:"tasks"`
}

// TLS names the files of a certificate, both or none, absolute.
type TLS struct {
	Cert string `json:"cert,omitempty"`
	Key  string `json:"key,omitempty"`
}

// OIDC is an OpenID Connect issuer.
type OIDC struct {
	// Issuer is its URL; empty: there is none.
	Issuer string `json:"issuer,omitempty"`
	// Audience is what tokens must be for.
	Audience string `json:"audience,omitempty"`
	// Claim says who the caller is. Default: sub.
	Claim string `json:"claim"`
}

// MCPLimits bound the server of MCP clients.
type MCPLimits struct {
	// Connections are those at a time. Default: 512.
	Connections int `json:"connections"`
	// Requests are those of a caller at a time. Default: 256.
	Requests int `json:"requests"`
	// Body is how large a request may be, in bytes. Default: 8 MiB.
	Body int64 `json:"body"`
}

// MCPTasks say which calls of clients that have the extension for tasks become tasks.
type MCPTasks struct {
	// After is how long a call is waited for before it becomes a task; 0: it does not. Default: 10s.
	After time.Duration `json:"after"`
	// AtOnce, Required and Never are patterns of tools whose calls are tasks from the start, are
	// tasks from the start and refused without the extension, and never become tasks. A tool is
	// looked for in Required first and in AtOnce last. Default: none.
	AtOnce   []string `json:"at_once,omitempty"`
	Required []string `json:"required,omitempty"`
	Never    []string `json:"never,omitempty"`
	// TTL is how long a task is kept. Default: 1h.
	TTL time.Duration `json:"ttl"`
	// Max is how many tasks of one caller are kept. Default: 100.
	Max int `json:"max"`
}

// Rule returns when the calls of a tool become tasks, at once if after is 0, and whether they have
// to. Ever reports whether they do.
func (t MCPTasks) Rule(tool string) (after time.Duration, required, ever bool) {
	has := func(patterns []string) bool {
		return slices.ContainsFunc(patterns, func(p string) bool { return match(p, tool) })
	}
	switch {
	case has(t.Required):
		return 0, true, true
	case has(t.Never):
		return 0, false, false
	case has(t.AtOnce):
		return 0, false, true
	}
	return t.After, false, t.After > 0
}

func defaultMCP() MCP {
	return MCP{
		Listen: "127.0.0.1:7411", OIDC: OIDC{Claim: "sub"},
		Limits: MCPLimits{Connections: 512, Requests: 256, Body: 8 << 20},
		Tasks:  MCPTasks{After: 10 * time.Second, TTL: time.Hour, Max: 100},
	}
}

// checkMCP notes halves of what needs both.
func (r *reader) checkMCP(m MCP) {
	const oidc = "mcp.oidc"
	switch {
	case m.TLS.Cert != "" && m.TLS.Key == "":
		r.at("mcp.tls.cert", "name the file of its private key under mcp.tls.key", "a certificate needs its key")
	case m.TLS.Key != "" && m.TLS.Cert == "":
		r.at("mcp.tls.key", "name the file of the certificate under mcp.tls.cert", "a key needs its certificate")
	}
	switch {
	case m.OIDC.Issuer != "" && m.OIDC.Audience == "":
		hint := "say under " + oidc + ".audience what its tokens have in aud when they are for this server"
		r.at(oidc+".issuer", hint, "an issuer needs an audience: it issues tokens for other servers, too, which their bearers could use here")
	case m.OIDC.Issuer == "" && r.has(oidc+".audience"):
		r.at(oidc+".audience", "name the issuer, or remove it", "it has no effect without an issuer")
	case m.OIDC.Issuer == "" && r.has(oidc+".claim"):
		r.at(oidc+".claim", "name the issuer, or remove it", "it has no effect without an issuer")
	}
}
