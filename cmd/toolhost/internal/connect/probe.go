package connect

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolhost/toolhost/internal/mcpjson"
)

// Waiting are the plugins of a server that it still starts. Their names are unknown if it does not say.
type Waiting struct {
	More  bool
	Names []string
}

// Tools reaches the server of an entry as the client would, and returns the names of its tools when all
// plugins were started, or when none has come for the time quiet, or the context ends: then more may come. What a command
// says on standard error goes there.
func (e Entry) Tools(ctx context.Context, quiet time.Duration) (names []string, waiting Waiting, err error) {
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
		return nil, waiting, err
	}
	defer func() { _ = session.Close() }()
	for news := time.Now(); ; { // each list waits for a while
		now, starting, err := listTools(ctx, session)
		switch {
		case err != nil && waiting.More && ctx.Err() != nil:
			return names, waiting, nil
		case err != nil:
			return nil, Waiting{}, err
		case !slices.Equal(now, names) || !slices.Equal(starting.Names, waiting.Names):
			news = time.Now()
		}
		if names, waiting = now, starting; !waiting.More || time.Since(news) > quiet {
			return names, waiting, nil
		}
	}
}

// listTools lists all pages.
func listTools(ctx context.Context, session *mcp.ClientSession) (names []string, waiting Waiting, err error) {
	for page := (*mcp.ListToolsParams)(nil); ; {
		list, err := session.ListTools(ctx, page)
		if err != nil {
			return nil, waiting, err
		}
		for _, t := range list.Tools {
			names = append(names, t.Name)
		}
		said, starting := list.Meta[mcpjson.Starting]
		waiting.More = waiting.More || starting
		if of, ok := said.([]any); ok {
			waiting.Names = nil
			for _, one := range of {
				waiting.Names = append(waiting.Names, fmt.Sprint(one))
			}
		}
		if list.NextCursor == "" {
			return names, waiting, nil
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
