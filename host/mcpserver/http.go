package mcpserver

import (
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	versionHeader = "Mcp-Protocol-Version"
	methodHeader  = "Mcp-Method"
	sessionHeader = "Mcp-Session-Id"
	// postHeader numbers requests inside of this process: handlers of the SDK see the headers
	// of a request, and not its context.
	postHeader = "Toolhost-Request"
)

// Handler returns the endpoint of clients on HTTP, of all revisions of the protocol. It does not
// authenticate: put the SDK's auth.RequireBearerToken in front, or the like, whose TokenInfo has
// the caller's name as UserID. It checks the Host header of requests that come in on loopback,
// and no Origin.
func (s *Server) Handler() http.Handler {
	get := func(*http.Request) *mcp.Server { return s.mcp }
	common := mcp.StreamableHTTPOptions{
		Logger: quiet(s.opts.Logger), MaxRequestBodyBytes: s.opts.MaxRequestBytes, SessionTimeout: s.opts.IdleTimeout,
	}
	old, latest := common, common
	latest.Stateless, latest.PropagateRequestCancellation = true, true
	sessions := mcp.NewStreamableHTTPHandler(get, &old)
	requests := mcp.NewStreamableHTTPHandler(get, &latest)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.ended.Err() != nil {
			http.Error(w, "the server is being stopped; connect to it again later", http.StatusServiceUnavailable)
			return
		}
		if !s.admit(w, r) {
			return
		}
		r.Header.Del(postHeader)
		if r.Method == http.MethodPost {
			defer s.posts.open(r)()
		}
		// Discovery begins a conversation, and its version is not always known then.
		if r.Header.Get(versionHeader) >= stateless || r.Header.Get(methodHeader) == "server/discover" {
			requests.ServeHTTP(w, r)
			return
		}
		if r.Method == http.MethodDelete {
			defer s.cancelSession(r)()
		}
		sessions.ServeHTTP(w, r)
	})
}
