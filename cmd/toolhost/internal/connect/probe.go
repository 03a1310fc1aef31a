package connect

import (
	"context"
	"net/http"
	"os"
	"os/exec"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolhost/toolhost/internal/mcpjson"
)

// Tools reaches the server of an entry as the client would, and returns the names of its tools when all
// plugins were started, or when the context ends: then more may come. What a command says on standard error
// goes there.
func (e Entry) Tools(ctx context.Context) (names []string, more bool, err error) {
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
		return nil, false, err
	}
	defer func() { _ = session.Close() }()
	for page := (*mcp.ListToolsParams)(nil); ; {
		list, err := session.ListTools(ctx, page)
		switch {
		case err != nil && more && ctx.Err() != nil:
			return names, true, nil
		case err != nil:
			return nil, false, err
		case page == nil:
			names = nil
		}
		for _, t := range list.Tools {
			names = append(names, t.Name)
		}
		more = list.Meta[mcpjson.Starting] != nil
		switch {
		case more: // each list waits for a while
			page = nil
			continue
		case list.NextCursor == "":
			return names, false, nil
		}
		page = &mcp.ListToolsParams{Cursor: list.NextCursor}
	}
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
