package mcpclient

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"golang.org/x/oauth2"

	"github.com/toolhost/toolhost/internal/address"
)

// OAuth says how the host authorizes itself to a server that runs elsewhere. The zero value
// is what most servers take: [Upstream.Login] registers a client, or uses MetadataURL. It does
// not count if the server's headers have an Authorization.
type OAuth struct {
	// ClientID is a client that was registered beforehand. Default: none.
	ClientID string
	// ClientSecret is its secret, which goes to Issuer alone, without which [Upstream.Login] fails. Default:
	// none, it is a public client.
	ClientSecret string
	// Issuer is the authorization server, by the URL that its metadata has. Default: the one that the
	// server names, if all of its endpoints are of one site.
	Issuer string
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

// oauthClient returns what makes requests to authorization servers, whose addresses a server chooses, and
// the leash by which none of them is nearer to this machine than the server.
func oauthClient(server string) (*http.Client, *address.Leash) {
	u, err := url.Parse(server)
	if err != nil {
		u = &url.URL{} // which [New] refuses
	}
	leash := address.NewLeash(u)
	base := newBase()
	base.Proxy, base.DialContext = leash.Proxy, leash.Dial
	return &http.Client{
		Timeout: answerTime,
		Transport: roundTripFunc(func(req *http.Request) (*http.Response, error) {
			if req.URL.Scheme != "https" && !plainHere(u, req.URL) {
				return nil, fmt.Errorf("the server names %s://%s for its authorization, which is refused: "+
					"only https, and this machine only for servers on it", req.URL.Scheme, req.URL.Host)
			}
			leash.Resolve(req.Context())
			if err := leash.Follow(req.URL); err != nil {
				return nil, err
			}
			return base.RoundTrip(req)
		}),
		CheckRedirect: withinHost,
	}, leash
}

// plainHere reports whether a server on this machine names something in plain text on it.
func plainHere(server, named *url.URL) bool {
	return named.Scheme == "http" && address.IsLoopback(named.Hostname()) && address.IsLoopback(server.Hostname())
}

type roundTripFunc func(*http.Request) (*http.Response, error)

func (f roundTripFunc) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }
