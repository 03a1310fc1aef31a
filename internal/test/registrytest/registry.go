// Package registrytest runs a registry of OCI artifacts for tests: [New].
package registrytest

import (
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/internal/test/binaries"
)

// New starts a registry, which ends with the test, and returns a handler that leads to it: tests put
// their faults in front.
func New(t testing.TB) http.Handler {
	t.Helper()
	_, out := binaries.Others(t, "registry")
	address, err := out.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: strings.TrimSpace(address)})
}
