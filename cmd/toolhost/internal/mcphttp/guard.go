package mcphttp

import (
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/token"
)

// guard refuses what a web page makes a browser send, unless the page's origin is allowed.
func (s *Server) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Content-Type-Options", "nosniff")
		if !s.hostAllowed(r) {
			s.turnAway(w, r, refusal{status: http.StatusForbidden, code: "forbidden_host", text: "the Host of the request is not one of this server's: " +
				"the operator can add it to mcp.hosts in the configuration"})
			return
		}
		origin := r.Header.Get("Origin")
		if len(r.Header.Values("Origin")) > 1 || origin != "" && !slices.Contains(s.options.Settings().Origins, origin) {
			s.turnAway(w, r, refusal{status: http.StatusForbidden, code: "forbidden_origin", text: "pages of this Origin may not use this server: " +
				"the operator can add it to mcp.origins in the configuration"})
			return
		}
		if leaksToken(r.URL) {
			s.turnAway(w, r, refusal{status: http.StatusBadRequest, code: "invalid_request", text: "a token in a URL ends up in logs: " +
				"send it as Authorization: Bearer, and revoke this one"})
			return
		}
		if origin != "" {
			allowOrigin(w.Header(), origin, r)
			if r.Method == http.MethodOptions {
				w.WriteHeader(http.StatusNoContent)
				return
			}
		}
		next.ServeHTTP(w, r)
	})
}

// hostAllowed reports whether the Host of a request names this server. A page whose name leads to
// this address (DNS rebinding) has its own name there.
func (s *Server) hostAllowed(r *http.Request) bool {
	name := hostname(r.Host)
	if name == "localhost" {
		return true
	}
	settings := s.options.Settings()
	if u, err := url.Parse(settings.URL); err == nil && u.Host != "" && strings.EqualFold(name, u.Hostname()) {
		return true
	}
	if slices.ContainsFunc(settings.Hosts, func(h string) bool { return strings.EqualFold(name, h) }) {
		return true
	}
	if address, _, err := net.SplitHostPort(settings.Listen); err == nil && address != "" && strings.EqualFold(name, address) {
		return true
	}
	at, err := netip.ParseAddr(name)
	if err != nil {
		return false
	}
	local, _ := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr)
	return at.IsLoopback() || local != nil && local.AddrPort().Addr().Unmap() == at.Unmap()
}

// hostname returns a Host without its port, in lower case.
func hostname(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	return strings.ToLower(strings.TrimSuffix(strings.TrimPrefix(host, "["), "]"))
}

// leaksToken reports whether a URL has a token in it, or what is called one.
func leaksToken(u *url.URL) bool {
	if u.RawQuery == "" {
		return false
	}
	if strings.Contains(u.RawQuery, token.Prefix) {
		return true
	}
	for name := range u.Query() {
		switch strings.ToLower(name) {
		case "access_token", "token", "bearer", "authorization", "api_key", "apikey", "key":
			return true
		}
	}
	return false
}

// allowOrigin lets the scripts of an origin send requests, and read the answers.
func allowOrigin(h http.Header, origin string, r *http.Request) {
	h.Set("Access-Control-Allow-Origin", origin)
	h.Add("Vary", "Origin")
	h.Set("Access-Control-Expose-Headers", "Mcp-Session-Id, Mcp-Protocol-Version, WWW-Authenticate, Retry-After")
	if r.Method != http.MethodOptions {
		return
	}
	h.Set("Access-Control-Allow-Methods", "GET, POST, DELETE")
	h.Set("Access-Control-Max-Age", "600")
	allowed := []string{"Authorization", "Content-Type", "Accept", "Last-Event-ID"}
	// The protocol has headers for the arguments of tools, too (Mcp-Param-NAME).
	for name := range strings.SplitSeq(r.Header.Get("Access-Control-Request-Headers"), ",") {
		if name = strings.TrimSpace(name); isHeaderOfMCP(name) {
			allowed = append(allowed, name)
		}
	}
	h.Set("Access-Control-Allow-Headers", strings.Join(allowed, ", "))
}

func isHeaderOfMCP(name string) bool {
	return len(name) <= 256 && strings.HasPrefix(strings.ToLower(name), "mcp-") &&
		strings.Trim(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.") == ""
}
