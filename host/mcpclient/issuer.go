package mcpclient

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/oauthex"

	"github.com/toolhost/toolhost/internal/address"
)

// judge is the transport of a login. It holds it to one authorization server: that of the settings, or
// else one whose endpoints are all of its own site. A server names whom it likes: with the page of one
// and the token endpoint of another, the second would get the user's code, its verifier and the secret.
type judge struct {
	next http.RoundTripper
	name string // of the server
	own  OAuth

	mu      sync.Mutex
	meta    oauthex.AuthServerMeta // that was read last
	refused error                  // the first time, which ends the login
}

// RoundTrip implements [http.RoundTripper].
func (j *judge) RoundTrip(req *http.Request) (*http.Response, error) {
	first := req
	for first.Response != nil { // of a redirect
		first = first.Response.Request
	}
	// The specifications have two names for metadata, before or behind the issuer's path.
	isMeta := req.Method == http.MethodGet && (strings.Contains(first.URL.Path, "/.well-known/oauth-authorization-server") ||
		strings.Contains(first.URL.Path, "/.well-known/openid-configuration"))
	err := j.before(req, isMeta)
	if err != nil {
		return nil, err
	}
	resp, err := j.next.RoundTrip(req)
	if err != nil || !isMeta || resp.StatusCode != http.StatusOK {
		return resp, err
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxMetadata))
	_ = resp.Body.Close()
	if err != nil {
		return nil, err
	}
	resp.Body = io.NopCloser(bytes.NewReader(body))
	var meta oauthex.AuthServerMeta
	if json.Unmarshal(body, &meta) == nil { // else the SDK refuses it
		if err := j.read(meta); err != nil {
			return nil, err
		}
	}
	return resp, nil
}

// maxMetadata is what the SDK reads of metadata, in bytes.
const maxMetadata = 1 << 20

// before judges a request before it is made.
func (j *judge) before(req *http.Request, isMeta bool) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	switch named := parsed(j.own.Issuer); {
	case j.refused != nil:
	case isMeta && named != nil && !sameOrigin(req.URL, named):
		j.other(req.URL.Scheme + "://" + req.URL.Host)
	case req.Method == http.MethodPost:
		j.goes(req.URL)
	}
	return j.refused
}

// read judges the metadata of an authorization server.
func (j *judge) read(meta oauthex.AuthServerMeta) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.meta = meta
	switch methods := meta.CodeChallengeMethodsSupported; {
	case len(methods) > 0 && !slices.Contains(methods, "S256"):
		j.refused = fmt.Errorf("the authorization server %s has no PKCE by S256, without which a code that is intercepted counts", meta.Issuer)
	case j.own.Issuer != "" && strings.TrimSuffix(meta.Issuer, "/") != strings.TrimSuffix(j.own.Issuer, "/"):
		j.other(meta.Issuer)
	default:
		for _, endpoint := range []string{meta.AuthorizationEndpoint, meta.TokenEndpoint, meta.RegistrationEndpoint} {
			if u := parsed(endpoint); u != nil {
				j.goes(u)
			}
		}
	}
	return j.refused
}

// goes judges where the page is shown, or the client, its secret, a code and its verifier are sent to.
func (j *judge) goes(to *url.URL) {
	at := to.Scheme + "://" + to.Host
	if j.meta.Issuer == "" {
		j.meta.Issuer = at // it has no metadata, as in 2025-03-26
		if j.own.Issuer != "" {
			j.meta.Issuer = j.own.Issuer
		}
	}
	issuer := parsed(j.meta.Issuer)
	line := fmt.Sprintf("add to mcp_servers.%s in the configuration: oauth: {issuer: %q}", j.name, j.meta.Issuer)
	switch {
	case j.refused != nil:
	case j.own.Issuer != "":
		if !slices.ContainsFunc([]string{j.own.Issuer, j.meta.AuthorizationEndpoint, j.meta.TokenEndpoint, j.meta.RegistrationEndpoint},
			func(one string) bool { u := parsed(one); return u != nil && sameOrigin(u, to) }) {
			j.other(at)
		}
	case j.own.ClientSecret != "":
		j.refused = fmt.Errorf("the client's secret would go to %s, which the server names: if that is where the client is registered, %s",
			j.meta.Issuer, line)
	case issuer == nil || !address.SameSite(issuer, to):
		j.refused = fmt.Errorf("the authorization server %s sends the login to another site, %s: if it may, %s", j.meta.Issuer, at, line)
	}
}

func (j *judge) other(at string) {
	j.refused = fmt.Errorf("the server names %s for its authorization, and oauth.issuer is %s", at, j.own.Issuer)
}

// page judges the page to log in.
func (j *judge) page(u *url.URL) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.goes(u)
	return j.refused
}

// seen returns the issuer whose metadata was read last: a client that is registered with it must not be
// shown to another.
func (j *judge) seen() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.meta.Issuer
}

// end returns why the login has ended, for which err is what the SDK says.
func (j *judge) end(err error) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if err != nil && j.refused != nil {
		return j.refused
	}
	return err
}

// parsed returns a URL that has a host; nil: it is none.
func parsed(text string) *url.URL {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" {
		return nil
	}
	return u
}
