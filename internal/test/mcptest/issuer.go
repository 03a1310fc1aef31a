package mcptest

import (
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Issuer is an authorization server on this machine, and the MCP server, at /mcp, that wants its
// tokens. Whoever asks for the page to log in agrees.
type Issuer struct {
	*httptest.Server
	mcp http.Handler

	sync.Mutex            // of what follows
	Clients    int        // that were registered
	Asked      url.Values // of the last page
	Access     string     // the token that counts
	Refresh    string
	Refreshes  int
	Lifetime   int      // of tokens, in seconds
	Secrets    []string // tokens and codes that were issued
	Page       string   // to log in; empty: its own
	TokenAt    string   // where tokens are got; empty: from itself
	Challenges []string // its methods of PKCE; empty: S256
	Secret     string   // of the only client; empty: there are others, and they are public
	CIMD       bool     // takes client ID metadata documents
	Deny       bool     // the user refuses
	code       string
}

// NewIssuer starts both. Close ends them.
func NewIssuer(server *mcp.Server) *Issuer {
	s := &Issuer{
		Lifetime: 3600,
		mcp:      mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil),
	}
	mux := http.NewServeMux()
	answer := func(w http.ResponseWriter, status int, v any) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(v)
	}
	mux.HandleFunc("/.well-known/oauth-protected-resource/mcp", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, 200, map[string]any{
			"resource": s.URL + "/mcp", "authorization_servers": []string{s.URL}, "scopes_supported": []string{"use"},
		})
	})
	mux.HandleFunc("/.well-known/oauth-authorization-server", func(w http.ResponseWriter, _ *http.Request) {
		methods := s.Challenges
		if methods == nil {
			methods = []string{"S256"}
		}
		answer(w, 200, map[string]any{
			"issuer": s.URL, "authorization_endpoint": cmp.Or(s.Page, s.URL+"/authorize"), "token_endpoint": cmp.Or(s.TokenAt, s.URL+"/token"),
			"registration_endpoint": s.URL + "/register", "response_types_supported": []string{"code"},
			"code_challenge_methods_supported": methods, "client_id_metadata_document_supported": s.CIMD,
			"token_endpoint_auth_methods_supported": []string{"none", "client_secret_basic"},
		})
	})
	mux.HandleFunc("/register", func(w http.ResponseWriter, r *http.Request) {
		var m map[string]any
		_ = json.NewDecoder(r.Body).Decode(&m)
		s.Lock()
		defer s.Unlock()
		s.Clients++
		m["client_id"] = fmt.Sprint("client", s.Clients)
		answer(w, 201, m)
	})
	mux.HandleFunc("/authorize", func(w http.ResponseWriter, r *http.Request) {
		s.Lock()
		defer s.Unlock()
		s.Asked, s.code = r.URL.Query(), fmt.Sprint("code", time.Now().UnixNano())
		s.Secrets = append(s.Secrets, s.code)
		back := url.Values{"code": {s.code}, "state": {s.Asked.Get("state")}, "iss": {s.URL}}
		if s.Deny {
			back = url.Values{"error": {"access_denied"}, "state": {s.Asked.Get("state")}}
		}
		http.Redirect(w, r, s.Asked.Get("redirect_uri")+"?"+back.Encode(), http.StatusFound)
	})
	mux.HandleFunc("/token", func(w http.ResponseWriter, r *http.Request) {
		_ = r.ParseForm()
		s.Lock()
		defer s.Unlock()
		sum := sha256.Sum256([]byte(r.Form.Get("code_verifier")))
		challenge := base64.RawURLEncoding.EncodeToString(sum[:])
		_, secret, _ := r.BasicAuth()
		switch {
		case secret != s.Secret:
			answer(w, 401, map[string]any{"error": "invalid_client", "error_description": "not " + secret})
			return
		case r.Form.Get("grant_type") == "refresh_token" && s.Refresh != "" && r.Form.Get("refresh_token") == s.Refresh:
			s.Refreshes++
		case s.code != "" && r.Form.Get("code") == s.code && challenge == s.Asked.Get("code_challenge") &&
			r.Form.Get("redirect_uri") == s.Asked.Get("redirect_uri"):
			s.code = ""
		default:
			answer(w, 400, map[string]any{"error": "invalid_grant", "secret": r.Form.Get("refresh_token")})
			return
		}
		s.Access, s.Refresh = fmt.Sprint("access-", time.Now().UnixNano()), fmt.Sprint("refresh-", time.Now().UnixNano())
		s.Secrets = append(s.Secrets, s.Access, s.Refresh)
		answer(w, 200, map[string]any{
			"access_token": s.Access, "refresh_token": s.Refresh, "token_type": "Bearer", "expires_in": s.Lifetime,
		})
	})
	mux.HandleFunc("/mcp", func(w http.ResponseWriter, r *http.Request) {
		s.Lock()
		ok := s.Access != "" && r.Header.Get("Authorization") == "Bearer "+s.Access
		s.Unlock()
		if !ok {
			w.Header().Set("WWW-Authenticate", `Bearer resource_metadata="`+s.URL+`/.well-known/oauth-protected-resource/mcp"`)
			http.Error(w, "no", http.StatusUnauthorized)
			return
		}
		s.mcp.ServeHTTP(w, r)
	})
	s.Server = httptest.NewServer(mux)
	return s
}

// Close ends the servers, and what their clients wait for.
func (s *Issuer) Close() {
	s.CloseClientConnections()
	s.Server.Close()
}
