package mcphttp

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/config"
	"github.com/toolhost/toolhost/internal/address"
)

// Bounds of what an issuer is asked.
const (
	issuerTime  = 10 * time.Second // for an answer
	issuerPause = 5 * time.Second  // after one that failed
	maxAnswer   = 1 << 20          // bytes
	// skew is how far its clock and ours may differ.
	skew = 30 * time.Second
	// maxKnown bounds the tokens that need not be verified again.
	maxKnown = 1024
)

// errUnavailable says that a token could not be checked, and may be valid.
var errUnavailable = errors.New("the issuer cannot be asked")

// algorithms are those whose verification needs no secret.
var algorithms = []string{
	oidc.RS256, oidc.RS384, oidc.RS512, oidc.PS256, oidc.PS384, oidc.PS512, oidc.ES256, oidc.ES384, oidc.ES512, oidc.EdDSA,
}

// issuers keeps the issuer of the settings in effect.
type issuers struct {
	mu      sync.Mutex
	current *issuer
}

// of returns the issuer of the settings; nil: they have none.
func (i *issuers) of(settings config.OIDC) *issuer {
	i.mu.Lock()
	defer i.mu.Unlock()
	switch {
	case settings.Issuer == "":
		i.current = nil
	case i.current == nil || i.current.settings != settings:
		i.current = newIssuer(settings)
	}
	return i.current
}

// issuer verifies the tokens of an OpenID Connect issuer. It asks the issuer when the first one
// comes, and again when a token has a key that it does not know.
type issuer struct {
	settings config.OIDC
	client   *http.Client

	asking   sync.Mutex // held while the issuer is asked for its configuration
	mu       sync.Mutex
	verifier *oidc.IDTokenVerifier // nil: it is not known yet
	failed   time.Time
	err      error
	known    map[[sha256.Size]byte]bearerOf
}

// bearerOf is whose token it is.
type bearerOf struct {
	subject string
	expires time.Time
}

func newIssuer(settings config.OIDC) *issuer {
	return &issuer{
		settings: settings, known: map[[sha256.Size]byte]bearerOf{},
		client: &http.Client{
			Timeout: issuerTime, Transport: bounded{http.DefaultTransport},
			CheckRedirect: func(r *http.Request, via []*http.Request) error {
				if len(via) > 3 || !isPrivate(r.URL) {
					return fmt.Errorf("it redirects to %s", r.URL.Redacted())
				}
				return nil
			},
		},
	}
}

// verify returns whose token it is.
//
// # Errors
//
// [errUnavailable] if the issuer does not answer; another if the token does not count.
func (i *issuer) verify(ctx context.Context, text string) (bearerOf, error) {
	key := sha256.Sum256([]byte(text))
	i.mu.Lock()
	known, ok := i.known[key]
	i.mu.Unlock()
	if ok && time.Now().Before(known.expires) {
		return known, nil
	}
	v, err := i.ready()
	if err != nil {
		return bearerOf{}, err
	}
	var asked error
	t, err := v.Verify(context.WithValue(ctx, askedKey{}, &asked), text)
	if err != nil {
		if asked != nil {
			return bearerOf{}, asked
		}
		return bearerOf{}, err
	}
	subject, err := i.subject(t)
	if err != nil {
		return bearerOf{}, err
	}
	who := bearerOf{subject: subject, expires: t.Expiry.Add(skew)}
	i.mu.Lock()
	defer i.mu.Unlock()
	if len(i.known) >= maxKnown {
		clear(i.known)
	}
	i.known[key] = who
	return who, nil
}

// subject returns the claim that says who the caller is.
func (i *issuer) subject(t *oidc.IDToken) (string, error) {
	var claims map[string]any
	if err := t.Claims(&claims); err != nil {
		return "", err
	}
	for _, name := range []string{"exp", "nbf", "iat"} { // which the library takes as texts, too
		if v, ok := claims[name]; ok {
			if _, number := v.(float64); !number {
				return "", fmt.Errorf("the claim %s of the token is not a number", name)
			}
		}
	}
	subject, _ := claims[i.settings.Claim].(string)
	if subject == "" {
		return "", fmt.Errorf("the token has no text in its claim %s", i.settings.Claim)
	}
	// With some issuers anyone can enter anyone's address.
	if i.settings.Claim == "email" && claims["email_verified"] != true {
		return "", errors.New("the issuer has not verified the email of the token")
	}
	return subject, nil
}

// ready returns the verifier. It asks the issuer for its configuration until it has it.
func (i *issuer) ready() (*oidc.IDTokenVerifier, error) {
	i.asking.Lock()
	defer i.asking.Unlock()
	if i.verifier != nil {
		return i.verifier, nil
	}
	if i.err != nil && time.Since(i.failed) < issuerPause {
		return nil, i.err
	}
	ctx := oidc.ClientContext(context.Background(), i.client)
	provider, err := oidc.NewProvider(ctx, i.settings.Issuer)
	var says struct {
		Keys string `json:"jwks_uri"`
	}
	if err == nil {
		err = provider.Claims(&says)
	}
	if err == nil {
		if u, bad := url.Parse(says.Keys); bad != nil || !isPrivate(u) {
			err = fmt.Errorf("its jwks_uri is not by https: %q", says.Keys)
		}
	}
	if err != nil {
		i.failed, i.err = time.Now(), fmt.Errorf("%w: %w", errUnavailable, err)
		return nil, i.err
	}
	i.verifier = oidc.NewVerifier(i.settings.Issuer, newKeySet(says.Keys, i.client), &oidc.Config{
		ClientID: i.settings.Audience, SupportedSigningAlgs: algorithms,
		Now: func() time.Time { return time.Now().Add(-skew) },
	})
	return i.verifier, nil
}

// bounded bounds the size of answers. Anything but a success is [errUnavailable].
type bounded struct{ http.RoundTripper }

// RoundTrip implements [http.RoundTripper].
func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := b.RoundTripper.RoundTrip(r)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errUnavailable, err)
	}
	if answer.StatusCode >= 400 {
		_ = answer.Body.Close()
		return nil, fmt.Errorf("%w: %s answers with %s", errUnavailable, r.URL.Redacted(), answer.Status)
	}
	answer.Body = limited{io.LimitReader(answer.Body, maxAnswer), answer.Body}
	return answer, nil
}

type limited struct {
	io.Reader
	io.Closer
}

// isPrivate reports whether what is sent to a URL, and comes from there, is not in plain text on
// a network.
func isPrivate(u *url.URL) bool {
	return u.Scheme == "https" || u.Scheme == "http" && address.IsLoopback(u.Hostname())
}
