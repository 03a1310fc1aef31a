package worktest_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"testing"

	"github.com/toolhost/toolhost/pluginsdk/tool"
)

type nothing struct{}

// request asks for a page of a server whose certificate is given.
type request struct {
	URL string `json:"url"`
	CA  string `json:"ca"`
}

type text struct {
	Text string `json:"text"`
}

// serve is servers and their clients in one process, as tests of web services are.
func serve(ctx context.Context, _ nothing) (text, error) {
	for network, address := range map[string]string{"tcp4": "127.0.0.1:0", "tcp6": "[::1]:0", "unix": ""} {
		l, err := new(net.ListenConfig).Listen(ctx, network, address)
		if err != nil {
			return text{}, fmt.Errorf("%s: %w", network, err)
		}
		s := &httptest.Server{Listener: l, Config: &http.Server{Handler: http.NotFoundHandler()}} //nolint:gosec // for tests
		s.Start()
		defer s.Close()
		client := s.Client()
		client.Transport = &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, l.Addr().String())
		}}
		res, err := client.Get("http://example.test") //nolint:noctx // it ends with the server
		if err != nil {
			return text{}, fmt.Errorf("%s: %w", network, err)
		}
		_ = res.Body.Close()
	}
	return text{"served"}, nil
}

// get asks for a page through the proxy, which net/http would not ask for loopback by itself.
func get(ctx context.Context, r request) (text, error) {
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM([]byte(r.CA))
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}
	if proxy := os.Getenv("HTTPS_PROXY"); proxy != "" {
		at, err := url.Parse(proxy)
		if err != nil {
			return text{}, err
		}
		transport.Proxy = http.ProxyURL(at)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, r.URL, nil)
	if err != nil {
		return text{}, err
	}
	res, err := (&http.Client{Transport: transport}).Do(req)
	if err != nil {
		return text{}, err
	}
	defer func() { _ = res.Body.Close() }()
	page, err := io.ReadAll(res.Body)
	return text{string(page)}, err
}

func TestOwnServer(t *testing.T) {
	t.Parallel()
	inBoxes(t, &tool.Needs{}, func(t *testing.T, p *place) {
		if !p.namespaces {
			t.Skip("there is no loopback without a network of its own")
		}
		if got := call[text](t, p, "serve", nothing{}); got.Text != "served" {
			t.Errorf("%q", got.Text)
		}
	})
}
