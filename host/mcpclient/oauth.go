package mcpclient

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"golang.org/x/oauth2"

	"github.com/toolhost/toolhost/internal/loopback"
)

// OAuth says how the host authorizes itself to a server that runs elsewhere. The zero value
// is what most servers take: [Upstream.Login] registers a client, or uses MetadataURL. It does
// not count if the server's headers have an Authorization.
type OAuth struct {
	// ClientID is a client that was registered beforehand. Default: none.
	ClientID string
	// ClientSecret is its secret. Default: none, it is a public client.
	ClientSecret string
	// MetadataURL is the address of a client ID metadata document, which is used where the
	// authorization server takes that. Default: none.
	MetadataURL string
	// Scopes are what to ask for. Default: what the server says that it needs.
	Scopes []string
	// Port is that of the address on 127.0.0.1 to which the browser returns, for clients that
	// are registered with one. Default: any.
	Port int
	// Dir is the directory of the tokens. Default: mcp-tokens in the user's state directory.
	Dir string
}

// authorizer authorizes requests with the tokens of a login. It never opens a browser.
type authorizer struct{ tokens *tokenStore }

var _ auth.OAuthHandler = (*authorizer)(nil)

// TokenSource implements [auth.OAuthHandler].
func (a *authorizer) TokenSource(context.Context) (oauth2.TokenSource, error) {
	if kept, err := a.tokens.get(); err != nil || kept.Token == nil {
		return nil, err
	}
	return a.tokens, nil
}

// Authorize implements [auth.OAuthHandler]. A token that was refused is refreshed, once.
func (a *authorizer) Authorize(_ context.Context, req *http.Request, resp *http.Response) error {
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, maxErrorBody))
	_ = resp.Body.Close()
	used := strings.TrimPrefix(req.Header.Get("Authorization"), "Bearer ")
	kept, err := a.tokens.get()
	switch {
	case err != nil:
		return err
	case kept.Token == nil:
		return errors.New("it wants an authorization")
	case kept.Token.AccessToken != used:
		return nil // there is another meanwhile
	case kept.Token.RefreshToken == "" || resp.StatusCode == http.StatusForbidden:
		return errors.New("it refuses the token")
	}
	if _, err := a.tokens.refresh(used); err != nil {
		return fmt.Errorf("it refuses the token, and there is no new one: %w", err)
	}
	return nil
}

// oauthClient returns what makes requests to authorization servers, whose addresses a server
// chooses: a server elsewhere does not reach those of this machine that way.
func oauthClient(server string, issuer *issuerSeen) *http.Client {
	u, err := url.Parse(server)
	local := err == nil && loopback.Is(u.Hostname())
	return &http.Client{
		Timeout: answerTime,
		Transport: roundTripFunc(func(req *http.Request) (*http.Response, error) {
			here := loopback.Is(req.URL.Hostname())
			if here && !local || req.URL.Scheme != "https" && !here {
				return nil, fmt.Errorf("the server names %s://%s for its authorization, which is refused: "+
					"only https, and this machine only for servers on it", req.URL.Scheme, req.URL.Host)
			}
			resp, err := oauthBase.RoundTrip(req)
			if err == nil {
				err = issuer.see(req, resp)
			}
			return resp, err
		}),
		CheckRedirect: withinHost,
	}
}

var oauthBase = newBase()

type roundTripFunc func(*http.Request) (*http.Response, error)

func (f roundTripFunc) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// issuerSeen has the issuer whose metadata was read last: a client that is registered with it
// must not be shown to another.
type issuerSeen struct {
	mu     sync.Mutex
	issuer string
}

func (s *issuerSeen) see(req *http.Request, resp *http.Response) error {
	if s == nil || resp.StatusCode != http.StatusOK || !strings.Contains(req.URL.Path, "/.well-known/o") ||
		strings.Contains(req.URL.Path, "oauth-protected-resource") {
		return nil
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxErrorBody))
	_ = resp.Body.Close()
	if err != nil {
		return err
	}
	resp.Body = io.NopCloser(bytes.NewReader(body))
	var meta struct {
		Issuer string `json:"issuer"`
	}
	if json.Unmarshal(body, &meta) == nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.issuer = meta.Issuer
	}
	return nil
}

func (s *issuerSeen) last() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.issuer
}
