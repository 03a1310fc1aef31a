package mcpclient

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
	"golang.org/x/oauth2"

	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/address"
)

// LoginOptions are the options of [Upstream.Login].
type LoginOptions struct {
	// OpenBrowser shows a page to the user, who authorizes the host there. It returns at once. The page is
	// one of this machine that is good once and leads to the one of the authorization server, whose host is
	// issuer. Required.
	OpenBrowser func(page, issuer string) error
	// Timeout bounds the login. Default: 5 minutes.
	Timeout time.Duration
}

// Login authorizes the host to a server that runs elsewhere: the user's browser shows the page
// of the authorization server, which sends it back to a port of this machine. What comes of it
// is kept for the connections that are made from then on, in a file that only the user can
// read, and goes to the server's host only.
//
// # Errors
//
// Plain ones, without tokens: the server wants no authorization, the user refused, time ran out.
func (u *Upstream) Login(ctx context.Context, options LoginOptions) error {
	bad := func(format string, args ...any) error {
		return fmt.Errorf("MCP server %s: "+format, append([]any{u.config.Name}, args...)...)
	}
	switch {
	case u.config.URL == "":
		return bad("it is a program, which takes its secrets from its environment")
	case u.tokens == nil && u.config.Headers.Get("Authorization") != "":
		return bad("its headers have an Authorization: remove it to log in")
	case u.tokens == nil:
		return bad("there is no directory to keep tokens in: set HOME or XDG_STATE_HOME")
	case options.OpenBrowser == nil:
		return bad("no browser to log in with")
	}
	if options.Timeout <= 0 {
		options.Timeout = loginTime
	}
	ctx, stop := context.WithTimeout(ctx, options.Timeout)
	defer stop()
	before, err := u.tokens.get()
	if err != nil {
		return err
	}
	back, err := newCallback(u.config.OAuth.Port, before.Redirect)
	if err != nil {
		return bad("no port to return to: %v", err)
	}
	defer back.close()
	f := &flow{u: u, back: back, open: options.OpenBrowser, before: before}
	f.client, f.leash = oauthClient(u.config.URL)
	f.judge = &judge{next: f.client.Transport, name: u.config.Name, own: u.config.OAuth}
	f.client.Transport = f.judge
	if err := f.judge.end(f.run(ctx)); err != nil {
		if cause := context.Cause(ctx); cause != nil {
			err = fmt.Errorf("the login did not end in time: %w", cause)
			if before.Issuer != "" && !f.kept {
				// Maybe its client is unknown by now, of which only the browser tells.
				before.Issuer = ""
				err = errors.Join(err, u.tokens.put(before))
			}
		}
		return bad("%w", u.clean(err))
	}
	return nil
}

// loginTime is the default of [LoginOptions.Timeout].
const loginTime = 5 * time.Minute

// flow is one login.
type flow struct {
	u      *Upstream
	back   *callback
	open   func(page, issuer string) error
	before authorization
	client *http.Client
	leash  *address.Leash
	judge  *judge
	kept   bool
}

func (f *flow) run(ctx context.Context) error {
	defer f.client.CloseIdleConnections()
	handler, err := f.handler(f.before)
	if err != nil {
		return err
	}
	if f.before.ClientID != "" && f.u.config.OAuth.ClientID == "" {
		// The client that was registered before may be unknown meanwhile, or not be this
		// authorization server's.
		if err := f.connect(ctx, handler); err == nil || f.back.used() || ctx.Err() != nil {
			return err
		}
		if handler, err = f.handler(authorization{}); err != nil {
			return err
		}
	}
	return f.connect(ctx, handler)
}

// connect makes a connection, during which the server asks for the authorization.
func (f *flow) connect(ctx context.Context, handler auth.OAuthHandler) error {
	if f.u.config.Transport == transportSSE {
		return f.get(ctx, handler)
	}
	l, err := f.u.connectWith(ctx, nil, plugin.Events{}, handler)
	if l != nil {
		closing, stop := context.WithTimeout(context.WithoutCancel(ctx), closeTime)
		defer stop()
		_ = l.Close(closing)
	}
	switch {
	case f.kept: // whatever else is wrong with the server
		return nil
	case err != nil:
		return err
	}
	return errors.New("it does not ask for an authorization: it can be used as it is")
}

// get asks for the stream of the older transport, for which the SDK has no authorization.
func (f *flow) get(ctx context.Context, handler auth.OAuthHandler) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, f.u.config.URL, http.NoBody)
	if err != nil {
		return err
	}
	req.Header.Set("Accept", "text/event-stream")
	client := &http.Client{Transport: newBase(), CheckRedirect: withinHost}
	defer client.CloseIdleConnections()
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusUnauthorized {
		_ = resp.Body.Close()
		return fmt.Errorf("it does not ask for an authorization (HTTP status %d)", resp.StatusCode)
	}
	return handler.Authorize(ctx, req, resp)
}

// handler returns the SDK's flow of the authorization code, with PKCE. Before is the client
// that was registered for an earlier login.
func (f *flow) handler(before authorization) (auth.OAuthHandler, error) {
	own := f.u.config.OAuth
	config := &auth.AuthorizationCodeHandlerConfig{
		RedirectURL: f.back.url, RequestRefreshToken: true, AcceptUnadvertisedIss: true,
		AuthorizationCodeFetcher: f.fetch, NewTokenSource: f.keep,
		Client: f.client,
	}
	if len(own.Scopes) > 0 {
		config.ScopeFilter = func([]string) []string { return own.Scopes }
	}
	if own.MetadataURL != "" {
		config.ClientIDMetadataDocumentConfig = &auth.ClientIDMetadataDocumentConfig{URL: own.MetadataURL}
	}
	client := &oauthex.ClientCredentials{ClientID: own.ClientID}
	secret := own.ClientSecret
	if own.ClientID == "" && before.Redirect == f.back.url && before.Issuer != "" {
		client.ClientID, client.Issuer, secret = before.ClientID, before.Issuer, before.Secret
	}
	if secret != "" {
		client.ClientSecretAuth = &oauthex.ClientSecretAuth{ClientSecret: secret}
	}
	if client.ClientID != "" && client.ClientID != own.MetadataURL {
		config.PreregisteredClient = client
	} else {
		config.DynamicClientRegistrationConfig = &auth.DynamicClientRegistrationConfig{
			Metadata: &oauthex.ClientRegistrationMetadata{
				ClientName: "toolhost", RedirectURIs: []string{f.back.url}, ResponseTypes: []string{"code"},
				GrantTypes: []string{"authorization_code", "refresh_token"}, TokenEndpointAuthMethod: "none",
			},
		}
	}
	handler, err := auth.NewAuthorizationCodeHandler(config)
	return &tryOnce{OAuthHandler: handler}, err
}

// tryOnce asks for an authorization until it is refused, so that the user sees one page although
// the SDK tries to connect by several revisions of the protocol.
type tryOnce struct {
	auth.OAuthHandler
	mu     sync.Mutex
	failed error
}

// Authorize implements [auth.OAuthHandler].
func (o *tryOnce) Authorize(ctx context.Context, req *http.Request, resp *http.Response) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.failed == nil {
		o.failed = o.OAuthHandler.Authorize(ctx, req, resp)
	} else {
		_ = resp.Body.Close()
	}
	return o.failed
}

// fetch shows the page and waits for the browser to come back.
func (f *flow) fetch(ctx context.Context, args *auth.AuthorizationArgs) (*auth.AuthorizationResult, error) {
	page, err := url.Parse(args.URL)
	server, bad := url.Parse(f.u.config.URL)
	// Other schemes, such as file, open something else than a browser.
	if err != nil || bad != nil || page.Scheme != "https" && !plainHere(server, page) {
		return nil, errors.New("the page to log in is not https")
	}
	f.leash.Resolve(ctx)
	if err := errors.Join(f.judge.page(page), f.leash.Lead(ctx, page)); err != nil {
		return nil, err
	}
	host := page.Host
	if issuer := parsed(f.judge.seen()); issuer != nil {
		host = issuer.Host
	}
	start := f.back.expect(page.Query().Get("state"), args.URL)
	if err := f.open(start, host); err != nil {
		return nil, fmt.Errorf("the browser cannot be opened: %w", err)
	}
	select {
	case r := <-f.back.results:
		return r.result, r.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// keep keeps the token. What the connection of the login refreshes is kept, too: the authorization
// server may take a refresh token once.
func (f *flow) keep(_ context.Context, c *oauth2.Config, t *oauth2.Token) (oauth2.TokenSource, error) {
	err := f.u.tokens.put(authorization{
		Issuer: f.judge.seen(), ClientID: c.ClientID, Secret: c.ClientSecret, Redirect: c.RedirectURL,
		TokenURL: c.Endpoint.TokenURL, Style: c.Endpoint.AuthStyle, Scopes: c.Scopes, Token: t,
	})
	f.kept = err == nil
	return f.u.tokens, err
}
