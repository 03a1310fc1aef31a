package control

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// ErrNoDaemon says that nobody serves on a socket.
var ErrNoDaemon = errors.New("no daemon is running")

// Client is the command's end. Each request has a connection of its own.
type Client struct {
	path  string
	http  http.Client
	state State
}

// Dial asks the daemon on a socket for its state.
//
// # Errors
//
// [ErrNoDaemon] where there is none; [tool.CodePermissionDenied] where the socket is
// another user's; [tool.CodeUnavailable] where the daemon does not answer in time, or
// with something else.
func Dial(ctx context.Context, path string) (*Client, error) {
	if err := CheckPath(path); err != nil {
		return nil, ErrNoDaemon // nobody can be there
	}
	c := &Client{path: path}
	c.http.Transport = &http.Transport{
		DisableKeepAlives: true, DisableCompression: true, MaxResponseHeaderBytes: maxHeader,
		DialContext: func(context.Context, string, string) (net.Conn, error) { return connect(path) },
	}
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	err := c.get(ctx, "/v1/state", &c.state)
	if err == nil && c.state.PID == 0 {
		err = tool.Errorf(tool.CodeUnavailable, "it answered with something else than its state")
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
	return nil, &tool.Error{
		Code: tool.CodeUnavailable, Message: fmt.Sprintf("the daemon on %s does not answer as it should: %v", path, cause(err)), Err: err,
		Hint: "see its log",
	}
}

// State is what the daemon said when it was asked first.
func (c *Client) State() State { return c.state }

// Tools are the daemon's tools that pass the filter, sorted by name.
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

// Get is the tool of that name.
func (c *Client) Get(ctx context.Context, name string) (host.Tool, bool, error) {
	found, err := c.tools(ctx, url.Values{"name": {name}})
	if err != nil || len(found) == 0 {
		return host.Tool{}, false, err
	}
	return found[0], true, nil
}

func (c *Client) tools(ctx context.Context, q url.Values) ([]host.Tool, error) {
	var list []listed
	err := c.get(ctx, "/v1/tools?"+q.Encode(), &list)
	return toolsOf(list), c.explain(err)
}

// RestartPlugin is the host's, in the daemon.
func (c *Client) RestartPlugin(ctx context.Context, name string) error {
	return c.explain(c.ask(ctx, http.MethodPost, "/v1/plugins/"+url.PathEscape(name)+"/restart", nil, nil))
}

// ApplyPlugin has the daemon run a plugin as its operator, its settings and its file say now.
func (c *Client) ApplyPlugin(ctx context.Context, name string) error {
	return c.explain(c.ask(ctx, http.MethodPost, "/v1/plugins/"+url.PathEscape(name)+"/sync", nil, nil))
}

// Reload has the daemon do what it does on SIGHUP.
func (c *Client) Reload(ctx context.Context) error {
	return c.explain(c.ask(ctx, http.MethodPost, "/v1/reload", nil, nil))
}

func (c *Client) get(ctx context.Context, path string, into any) error {
	return c.ask(ctx, http.MethodGet, path, nil, into)
}

// ask makes a request whose answer is one value; nil: it is not looked at.
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

// send makes a request. An answer that is an error is one here.
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
		Error *Problem `json:"error"`
	}
	if err := json.NewDecoder(io.LimitReader(resp.Body, 1<<20)).Decode(&said); err != nil || said.Error == nil {
		return nil, tool.Errorf(tool.CodeUnavailable, "it answered %s to %s %s", resp.Status, method, path)
	}
	return nil, said.Error.Error()
}

// explain is the error of a daemon that answered before, in a command's words.
func (c *Client) explain(err error) error {
	var said *tool.Error
	if err == nil || errors.As(err, &said) {
		return err
	}
	return &tool.Error{
		Code: tool.CodeUnavailable, Message: fmt.Sprintf("the daemon (pid %d) is gone, or does not answer: %v", c.state.PID, cause(err)), Err: err,
		Hint: "see its log; with --no-daemon a command works on its own",
	}
}

// cause leaves out the address, which is none that people know.
func cause(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}
