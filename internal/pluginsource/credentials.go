package pluginsource

import (
	"fmt"
	"net/http"
	"net/url"

	"oras.land/oras-go/v2/registry/remote/auth"
	"oras.land/oras-go/v2/registry/remote/credentials"

	"github.com/toolhost/toolhost/internal/address"
	"github.com/toolhost/toolhost/internal/sanitize"
)

// userAgent is what servers are told of who asks.
const userAgent = "toolhost"

// Authorized returns a client of a registry with its credentials, which are those of Docker's
// configuration. They go to no other site, whomever the registry names for tokens, unless Docker's
// configuration has that one, too.
//
// # Errors
//
// A plain error if Docker's configuration cannot be read.
func Authorized(registry *url.URL, client *http.Client) (*auth.Client, error) {
	store, err := credentials.NewStoreFromDocker(credentials.StoreOptions{})
	if err != nil {
		return nil, fmt.Errorf("docker's configuration, which has the credentials of registries, cannot be read: %w", err)
	}
	within := *client
	within.Transport = &realm{registry, client.Transport, credentials.Credential(store)}
	out := &auth.Client{Client: &within, Cache: auth.NewCache(), Credential: credentials.Credential(store)}
	out.SetUserAgent(userAgent)
	return out, nil
}

// realm keeps credentials within the site of a registry.
type realm struct {
	registry *url.URL
	next     http.RoundTripper
	known    auth.CredentialFunc
}

// RoundTrip implements [http.RoundTripper].
func (r *realm) RoundTrip(req *http.Request) (*http.Response, error) {
	// A POST to another has them in its body (OAuth 2.0).
	if (req.Header.Get("Authorization") != "" || req.Method == http.MethodPost) && !address.SameSite(r.registry, req.URL) {
		if known, err := r.known(req.Context(), req.URL.Host); err != nil || known == auth.EmptyCredential {
			at := sanitize.Line(req.URL.Host, 200)
			return nil, &refusedError{fmt.Sprintf("%s wants the credentials for it sent to %s, which is another site: "+
				"if they may go there, add that host to Docker's configuration: docker login %s", r.registry.Host, at, at)}
		}
	}
	return r.next.RoundTrip(req)
}
