package config

import (
	"slices"
	"time"
)

// MCP says how the tools are served to MCP clients over HTTP.
type MCP struct {
	// Listen is the address to listen on, if --listen names none. An address that is not of this machine's loopback
	// needs tls.
	Listen string `json:"listen" is:"address" default:"127.0.0.1:7411" example:"0.0.0.0:7411"`
	// URL is the URL under which clients reach the server, if that is not the address that it listens on, as behind a
	// proxy. Its host is allowed in Host, and it is the resource in the metadata for OAuth. Default: made of the
	// address.
	URL string `json:"url,omitempty" is:"endpoint" example:"https://tools.example.com/mcp"`
	// Hosts are names that requests may have in Host, besides those of the address and of url. Another is refused: a
	// page whose name leads to this machine has its own name there.
	Hosts []string `json:"hosts,omitempty" is:"host" maxItems:"100" example:"tools.example.com"`
	// Origins are origins of web pages whose scripts may use the server, with a token like all clients. Requests of
	// other pages are refused. Default: none.
	Origins []string `json:"origins,omitempty" is:"origin" maxItems:"100" example:"https://app.example.com"`
	// TLS is the certificate of the server. Both files are read again when they change. Default: none, and
	// only loopback addresses are served.
	TLS TLS `json:"tls"`
	// OIDC is an OpenID Connect issuer whose signed tokens count, besides those of toolhost tokens new. The
	// caller is the one under callers whose subject the token has; a token of anyone else is refused.
	OIDC OIDC `json:"oidc"`
	// Limits are bounds of the server.
	Limits MCPLimits `json:"limits"`
	// Tasks are calls that become tasks, for clients that have the extension for them (io.modelcontextprotocol/tasks):
	// the client gets a task in place of a result, and comes back for the result. Other clients wait for it.
	Tasks MCPTasks `json:"tasks"`
}

// TLS names the files of a certificate, both or none, absolute.
type TLS struct {
	// Cert is the file of the certificate, in PEM, with the certificates of its issuers after it.
	Cert string `json:"cert,omitempty" is:"path" example:"tls/server.crt"`
	// Key is the file of its private key, in PEM.
	Key string `json:"key,omitempty" is:"path" example:"tls/server.key"`
}

// OIDC is an OpenID Connect issuer.
type OIDC struct {
	// Issuer is the URL of the issuer, as its tokens have it in iss.
	Issuer string `json:"issuer,omitempty" is:"issuer" example:"https://login.example.com"`
	// Audience is what tokens must have in aud: that they were issued for this server, and not for another one. Needed
	// with issuer.
	Audience string `json:"audience,omitempty" is:"identity" example:"https://tools.example.com/mcp"`
	// Claim is the claim that says who the caller is, which subject under callers is compared with. email counts only
	// if the issuer has verified it.
	Claim string `json:"claim" is:"claim" default:"sub" example:"client_id"`
}

// MCPLimits bound the server of MCP clients.
type MCPLimits struct {
	// Connections is how many connections are open at a time, 8 to 65536. When there are more, the one that has waited
	// longest without a request of a caller is closed.
	Connections int `json:"connections" minimum:"8" maximum:"65536" default:"512" example:"64"`
	// Requests is how many requests of one caller are answered at a time, 1 to 65536; those in which a client waits
	// for news count, too.
	Requests int `json:"requests" minimum:"1" maximum:"65536" default:"256" example:"32"`
	// Body is how large a request may be, 64KiB to 64MiB.
	Body int64 `json:"body" is:"size" minimum:"64KiB" maximum:"64MiB" default:"8MiB" example:"1MiB"`
}

// MCPTasks say which calls of clients that have the extension for tasks become tasks. A tool is looked for
// in Required first and in AtOnce last.
type MCPTasks struct {
	// After is how long a call is waited for before it becomes a task, 1ms to 24h, or never.
	After time.Duration `json:"after" words:"never=0" default:"10s" example:"30s"`
	// AtOnce are names of tools, as the host has them, whose calls are tasks from the start. * stands for any
	// characters. Default: none.
	AtOnce []string `json:"at_once,omitempty" is:"tools" example:"ci.*"`
	// Required are names of tools whose calls are tasks from the start, and are refused to clients without the
	// extension. They take precedence over never. Default: none.
	Required []string `json:"required,omitempty" is:"tools" example:"deploy.*"`
	// Never are names of tools whose calls never become tasks. They take precedence over at_once. Default: none.
	Never []string `json:"never,omitempty" is:"tools" example:"fs.*"`
	// TTL is how long a task is kept from its start, 1s to 24h. A call that is in progress by then is cancelled; a
	// result is kept for 5 minutes at least, or as long again as this if that is less.
	TTL time.Duration `json:"ttl" minimum:"1s" default:"1h" example:"8h"`
	// Max is how many tasks of one caller are kept, those that have ended included, 1 to 1000. Calls beyond
	// that are answered with their results.
	Max int `json:"max" minimum:"1" maximum:"1000" default:"100" example:"16"`
}

// Rule returns when the calls of a tool become tasks, at once if after is 0, and whether they have
// to. Ever reports whether they do.
func (t MCPTasks) Rule(tool string) (after time.Duration, required, ever bool) {
	has := func(patterns []string) bool {
		return slices.ContainsFunc(patterns, func(p string) bool { return Match(p, tool) })
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
