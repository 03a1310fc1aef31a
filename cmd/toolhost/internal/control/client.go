package control

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// ErrNoDaemon reports that no daemon serves on a socket.
var ErrNoDaemon = errors.New("no daemon is running")

// Client is the command's end. Each request has a connection of its own.
type Client struct {
	path  string
	http  http.Client
	state State
}

// DialOption sets one thing of [Dial].
type DialOption func(*dialing)

type dialing struct{ foreign bool }

// Foreign allows a daemon of another user, who gets the arguments of calls.
func Foreign(allowed bool) DialOption { return func(d *dialing) { d.foreign = allowed } }

// Dial connects to the daemon on a socket and asks for its state.
//
// # Errors
//
// [ErrNoDaemon] if there is none; [tool.CodePermissionDenied] if the socket belongs to another
// user; [tool.CodeUnavailable] if the daemon does not answer in time or as it should.
func Dial(ctx context.Context, path string, opts ...DialOption) (*Client, error) {
	var d dialing
	for _, opt := range opts {
		opt(&d)
	}
	if err := CheckPath(path); err != nil {
		return nil, ErrNoDaemon // there cannot be one
	}
	c := &Client{path: path}
	c.http.Transport = &http.Transport{
		DisableKeepAlives: true, DisableCompression: true, MaxResponseHeaderBytes: maxHeader,
		DialContext: func(context.Context, string, string) (net.Conn, error) { return connect(path, d.foreign) },
	}
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	err := c.get(ctx, "/v1/state", &c.state)
	if err == nil && c.state.PID == 0 {
		err = tool.Errorf(tool.CodeUnavailable, "the answer is not a state")
	}
	var known *tool.Error
	switch {
	case err == nil:
		return c, nil
	case errors.Is(err, ErrNoDaemon):
		return nil, ErrNoDaemon
	case errors.As(err, &known) && known.Code == tool.CodePermissionDenied:
		return nil, known
	}
	return nil, tool.Errorf(tool.CodeUnavailable, "the daemon on %s does not answer as it should: %v", path, cause(err)).
		Because(err).Try("see its log")
}

// State returns the state of the daemon at the time of [Dial].
func (c *Client) State() State { return c.state }

// Tools returns the daemon's tools that pass the filter, sorted by name.
func (c *Client) Tools(ctx context.Context, f host.Filter) ([]host.Tool, error) {
	q := url.Values{"category": f.Categories}
	if f.MaxSafety != tool.Unset {
		q.Set("max_safety", f.MaxSafety.String())
	}
	if f.Search != "" {
		q.Set("search", f.Search)
	}
	return c.tools(ctx, q)
}

// Tool returns the tool of a name.
func (c *Client) Tool(ctx context.Context, name string) (host.Tool, bool, error) {
	found, err := c.tools(ctx, url.Values{"name": {name}})
	if err != nil || len(found) == 0 {
		return host.Tool{}, false, err
	}
	return found[0], true, nil
}

func (c *Client) tools(ctx context.Context, q url.Values) ([]host.Tool, error) {
	var list []sentTool
	err := c.get(ctx, "/v1/tools?"+q.Encode(), &list)
	return receivedTools(list), c.explain(err)
}

// RestartPlugin restarts a plugin of the daemon.
func (c *Client) RestartPlugin(ctx context.Context, name string) error {
	return c.explain(c.ask(ctx, http.MethodPost, "/v1/plugins/"+url.PathEscape(name)+"/restart", nil, nil))
}

// RollbackPlugin makes a plugin of the daemon go back to the binary that served before.
func (c *Client) RollbackPlugin(ctx context.Context, name string) error {
	return c.explain(c.ask(ctx, http.MethodPost, "/v1/plugins/"+url.PathEscape(name)+"/rollback", nil, nil))
}

// ApplyPlugin makes the daemon apply what the operator, the settings and the file of a plugin
// say now.
func (c *Client) ApplyPlugin(ctx context.Context, name string) error {
	return c.explain(c.ask(ctx, http.MethodPost, "/v1/plugins/"+url.PathEscape(name)+"/sync", nil, nil))
}

func (c *Client) get(ctx context.Context, path string, into any) error {
	return c.ask(ctx, http.MethodGet, path, nil, into)
}

// post is ask for a request that has a value.
func (c *Client) post(ctx context.Context, path string, body, into any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	return c.ask(ctx, http.MethodPost, path, bytes.NewReader(text), into)
}

// ask sends a request whose answer is one value; nil: the answer is not read.
func (c *Client) ask(ctx context.Context, method, path string, body io.Reader, into any) error {
	resp, err := c.send(ctx, method, path, body)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	if into == nil {
		return nil
	}
	return json.NewDecoder(io.LimitReader(resp.Body, maxAnswer)).Decode(into)
}

// send sends a request. It returns an answer that is an error as an error.
func (c *Client) send(ctx context.Context, method, path string, body io.Reader) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, "http://toolhost"+path, body)
	if err != nil {
		return nil, err
	}
	resp, err := c.http.Do(req)
	if err != nil || resp.StatusCode == http.StatusOK {
		return resp, err
	}
	defer func() { _ = resp.Body.Close() }()
	var said struct {
		Error *tool.Error `json:"error"`
	}
	if err := json.NewDecoder(io.LimitReader(resp.Body, 1<<20)).Decode(&said); err != nil || said.Error == nil {
		return nil, tool.Errorf(tool.CodeUnavailable, "the answer to %s %s is %s", method, path, resp.Status)
	}
	return nil, said.Error
}

// explain returns the error of a daemon that answered before.
func (c *Client) explain(err error) error {
	var said *tool.Error
	if err == nil || errors.As(err, &said) {
		return err
	}
	return tool.Errorf(tool.CodeUnavailable,
		"the daemon (pid %d) is gone, or does not answer: %v", c.state.PID, cause(err)).
		Because(err).Try("see its log; with --no-daemon a command works on its own")
}

// cause removes the address from an error: people do not know it.
func cause(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}
