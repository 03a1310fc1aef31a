package connect

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/output"
	"github.com/toolhost/toolhost/internal/sanitize"
)

// Tools reaches the server of an entry as the client would, and returns the names of its tools.
//
// # Errors
//
// Plain ones; what a command said on standard error is in them.
func (e Entry) Tools(ctx context.Context) (names []string, err error) {
	var transport mcp.Transport
	said := &tail{}
	if e.URL != "" {
		transport = &mcp.StreamableClientTransport{
			Endpoint: e.URL, HTTPClient: &http.Client{Transport: headers(e.Headers)}, MaxRetries: -1, DisableStandaloneSSE: true,
		}
	} else {
		cmd := exec.CommandContext(ctx, e.Command, e.Args...) //nolint:gosec // the user asked for what the entry has
		cmd.Env, cmd.Stderr = os.Environ(), said
		for _, k := range slices.Sorted(maps.Keys(e.Env)) {
			cmd.Env = append(cmd.Env, k+"="+e.Env[k])
		}
		transport = &mcp.CommandTransport{Command: cmd}
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "toolhost connect", Version: "1"}, nil)
	session, err := client.Connect(ctx, transport, nil)
	if err != nil {
		if text := said.String(); text != "" {
			err = fmt.Errorf("%w: %s", err, sanitize.Text(output.FirstLine(text)))
		}
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

// tail keeps the beginning of what a command says.
type tail struct {
	mu   sync.Mutex
	text []byte
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, p[:min(len(p), 4096-len(t.text))]...)
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.TrimSpace(string(t.text))
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
