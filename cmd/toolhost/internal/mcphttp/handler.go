package mcphttp

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/oauthex"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/crowd"
)

const metadataPath = "/.well-known/oauth-protected-resource"

// handler returns what answers all requests.
func (s *Server) handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle(Path, s.authenticated(http.HandlerFunc(s.serveCaller)))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { say(w, http.StatusOK, "ok") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if s.mcp.Load() == nil {
			say(w, http.StatusServiceUnavailable, "not ready")
			return
		}
		say(w, http.StatusOK, "ready")
	})
	mux.HandleFunc(metadataPath+"/", s.serveMetadata)
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		refuse(w, refusal{status: http.StatusNotFound, code: "not_found", text: "MCP is served at " + Path})
	})
	if s.options.Counting != nil {
		return s.options.Counting(s.guard(mux))
	}
	return s.guard(mux)
}

// Load returns how many requests of callers are not answered yet, and how many callers made them.
func (s *Server) Load() (requests, callers int) {
	s.requests.mu.Lock()
	defer s.requests.mu.Unlock()
	return len(s.requests.all), len(s.requests.of)
}

func say(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, text+"\n")
}

// serveCaller passes on the request of a caller, within its bounds.
func (s *Server) serveCaller(w http.ResponseWriter, r *http.Request) {
	mcp := s.mcp.Load()
	if mcp == nil {
		refuse(w, refusal{status: http.StatusServiceUnavailable, code: "temporarily_unavailable", retry: time.Second, text: "the tools are not ready"})
		return
	}
	by, _ := r.Context().Value(identityKey{}).(identity)
	defer crowd.Use(r.Context())()
	begun, done, ok := s.requests.begin(r, by)
	if !ok {
		s.turnAway(w, r, refusal{
			status: http.StatusTooManyRequests, code: "too_many_requests", retry: time.Second,
			text: fmt.Sprintf("the caller %s has %d requests that are not answered yet, and mcp.limits.requests in the configuration allows no more", by.caller, s.requests.most),
		})
		return
	}
	defer done()
	r = begun
	limit := s.options.Settings().Limits.Body
	if r.ContentLength > limit {
		w.Header().Set("Connection", "close")
		s.turnAway(w, r, refusal{
			status: http.StatusRequestEntityTooLarge, code: "too_large",
			text: fmt.Sprintf("the request has %d bytes, and mcp.limits.body in the configuration allows %d", r.ContentLength, limit),
		})
		return
	}
	if r.ContentLength != 0 {
		r.Body = newBody(w, r.Body, limit)
	}
	r.Host = "localhost" // the SDK takes no other on loopback; the one that came was checked
	(*mcp).ServeHTTP(w, r)
}

// body is that of a request, which has to arrive within a time.
type body struct {
	io.ReadCloser
	control *http.ResponseController
}

func newBody(w http.ResponseWriter, r io.ReadCloser, limit int64) io.ReadCloser {
	b := body{http.MaxBytesReader(w, r, limit), http.NewResponseController(w)}
	_ = b.control.SetReadDeadline(time.Now().Add(bodyTime))
	return b
}

// Read implements [io.Reader]. After the end, the connection waits for the next request or the
// client's leaving, for which there is no such time.
func (b body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil {
		_ = b.control.SetReadDeadline(time.Time{})
	}
	return n, err
}

// serveMetadata tells OAuth clients where to get a token (RFC 9728).
func (s *Server) serveMetadata(w http.ResponseWriter, r *http.Request) {
	resource, issuer := s.resource(r), s.options.Settings().OIDC.Issuer
	if issuer == "" || r.URL.Path != metadataPath+resource.Path {
		refuse(w, refusal{status: http.StatusNotFound, code: "not_found", text: "there is no such resource: MCP is served at " + Path})
		return
	}
	auth.ProtectedResourceMetadataHandler(&oauthex.ProtectedResourceMetadata{
		Resource: resource.String(), AuthorizationServers: []string{issuer},
		BearerMethodsSupported: []string{"header"}, ResourceName: "toolhost",
	}).ServeHTTP(w, r)
}

// resource returns the URL of the server, as the client of a request knows it.
func (s *Server) resource(r *http.Request) *url.URL {
	if text := s.options.Settings().URL; text != "" {
		if u, err := url.Parse(text); err == nil {
			return u
		}
	}
	scheme := "http"
	if s.cert != nil {
		scheme = "https"
	}
	return &url.URL{Scheme: scheme, Host: strings.ToLower(r.Host), Path: Path}
}

// metadataURL returns where the metadata is; empty: there is none.
func (s *Server) metadataURL(r *http.Request) string {
	if s.options.Settings().OIDC.Issuer == "" {
		return ""
	}
	u := *s.resource(r)
	u.Path = metadataPath + u.Path
	return u.String()
}
