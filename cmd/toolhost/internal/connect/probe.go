package connect

import (
	"context"
	"net/http"
	"os"
	"os/exec"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Tools reaches the server of an entry as the client would, and returns the names of its tools. What a command says on
// standard error goes there.
func (e Entry) Tools(ctx context.Context) (names []string, err error) {
	var transport mcp.Transport = &mcp.StreamableClientTransport{
		Endpoint: e.URL, HTTPClient: &http.Client{Transport: headers(e.Headers)}, MaxRetries: -1, DisableStandaloneSSE: true,
	}
	if e.URL == "" {
		cmd := exec.CommandContext(ctx, e.Command, e.Args...) //nolint:gosec // the user asked for what the entry has
		cmd.Env, cmd.Stderr = os.Environ(), os.Stderr
		for k, v := range e.Env {
			cmd.Env = append(cmd.Env, k+"="+v)
		}
		transport = &mcp.CommandTransport{Command: cmd}
	}
	session, err := mcp.NewClient(&mcp.Implementation{Name: "toolhost connect", Version: "1"}, nil).Connect(ctx, transport, nil)
	if err != nil {
		return nil, err
	}
	defer func() { _ = session.Close() }()
	for t, err := range session.Tools(ctx, nil) {
		if err != nil {
			return nil, err
		}
		names = append(names, t.Name)
	}
	return names, nil
}

// headers are added to each request.
type headers map[string]string

// RoundTrip implements [http.RoundTripper].
func (h headers) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	for k, v := range h {
		r.Header.Set(k, v)
	}
	return http.DefaultTransport.RoundTrip(r)
}
