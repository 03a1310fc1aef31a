package control

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"connectrpc.com/connect"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/pluginsdk/tool"
	daemonv1 "github.com/toolhost/toolhost/proto/toolhost/daemon/v1"
)

// ErrNoDaemon reports that no daemon serves on a socket.
var ErrNoDaemon = errors.New("no daemon is running")

// Client is the command's end. Each request has a connection of its own.
type Client struct {
	path    string
	foreign bool
	http    *http.Client
	state   State
}

// DialOption sets one thing of [Dial].
type DialOption func(*dialing)

type dialing struct{ foreign bool }

// Foreign allows a daemon of another user, who gets the arguments of calls.
func Foreign(allowed bool) DialOption { return func(d *dialing) { d.foreign = allowed } }

// maxAnswer bounds a message that a command reads, in bytes: an answer of 64 MiB, or its arguments, if
// the command is asked about them.
const maxAnswer = 256 << 20

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
	c := &Client{path: path, foreign: d.foreign, http: &http.Client{Transport: &http.Transport{
		DisableKeepAlives: true, DisableCompression: true, MaxResponseHeaderBytes: maxHeader,
		DialContext: func(context.Context, string, string) (net.Conn, error) { return connectTo(path, d.foreign) },
	}}}
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	r, err := ask[daemonv1.GetStateResponse](ctx, c, daemonv1.DaemonGetStateProcedure, &daemonv1.GetStateRequest{})
	if err == nil {
		convert(&c.state, r.GetState())
	}
	if err == nil && c.state.PID == 0 {
		err = tool.Errorf(tool.CodeUnavailable, "the answer is not a state")
	}
	known := said(err)
	if known == nil {
		errors.As(err, &known)
	}
	switch {
	case err == nil:
		return c, nil
	case errors.Is(err, ErrNoDaemon):
		return nil, ErrNoDaemon
	case known != nil && known.Code == tool.CodePermissionDenied:
		return nil, known
	}
	return nil, tool.Errorf(tool.CodeUnavailable, "the daemon on %s does not answer as it should: %v", path, cause(err)).
		Because(err).Try("see its log")
}

// clientOf returns a client for one call. The generated one prepares all thirty, which takes a command a
// millisecond.
func clientOf[Answer, Request any](c *Client, procedure string) *connect.Client[Request, Answer] {
	return connect.NewClient[Request, Answer](c.http, "http://toolhost"+procedure,
		connect.WithAcceptCompression("gzip", nil, nil), connect.WithReadMaxBytes(maxAnswer))
}

// ask sends a request that has one answer.
func ask[Answer, Request any](ctx context.Context, c *Client, procedure string, r *Request) (*Answer, error) {
	answer, err := clientOf[Answer, Request](c, procedure).CallUnary(ctx, connect.NewRequest(r))
	if err != nil {
		return nil, err
	}
	return answer.Msg, nil
}

// do is ask whose error is for people.
func do[Answer, Request any](ctx context.Context, c *Client, procedure string, r *Request) (*Answer, error) {
	answer, err := ask[Answer](ctx, c, procedure, r)
	return answer, c.explain(err)
}

// stream sends a request that is answered with a stream.
func stream[Event, Request any](
	ctx context.Context, c *Client, procedure string, r *Request,
) (*connect.ServerStreamForClient[Event], error) {
	return clientOf[Event, Request](c, procedure).CallServerStream(ctx, connect.NewRequest(r))
}

// State returns the state of the daemon at the time of [Dial].
func (c *Client) State() State { return c.state }

// Tools returns the daemon's tools that pass the filter, sorted by name.
func (c *Client) Tools(ctx context.Context, f host.Filter) ([]host.Tool, error) {
	r := &daemonv1.ListToolsRequest{Categories: f.Categories, Search: valid(f.Search)}
	if f.MaxSafety != tool.Unset {
		r.MaxSafety = f.MaxSafety.String()
	}
	return c.tools(ctx, r)
}

// Tool returns the tool of a name.
func (c *Client) Tool(ctx context.Context, name string) (host.Tool, bool, error) {
	if name = valid(name); name == "" {
		return host.Tool{}, false, nil
	}
	found, err := c.tools(ctx, &daemonv1.ListToolsRequest{Name: name})
	if err != nil || len(found) == 0 {
		return host.Tool{}, false, err
	}
	return found[0], true, nil
}

func (c *Client) tools(ctx context.Context, r *daemonv1.ListToolsRequest) ([]host.Tool, error) {
	list, err := do[daemonv1.ListToolsResponse](ctx, c, daemonv1.DaemonListToolsProcedure, r)
	out := allOf[host.Tool](list.GetTools())
	for i, t := range list.GetTools() {
		convert(&out[i].Claimed, t.GetClaimed())
	}
	return out, err
}

// RestartPlugin restarts a plugin of the daemon.
func (c *Client) RestartPlugin(ctx context.Context, name string) error {
	_, err := do[daemonv1.RestartPluginResponse](ctx, c, daemonv1.DaemonRestartPluginProcedure, &daemonv1.RestartPluginRequest{Name: name})
	return err
}

// RollbackPlugin makes a plugin of the daemon go back to the binary that served before.
func (c *Client) RollbackPlugin(ctx context.Context, name string) error {
	_, err := do[daemonv1.RollbackPluginResponse](ctx, c, daemonv1.DaemonRollbackPluginProcedure, &daemonv1.RollbackPluginRequest{Name: name})
	return err
}

// ApplyPlugin makes the daemon apply what the operator, the settings and the file of a plugin
// say now.
func (c *Client) ApplyPlugin(ctx context.Context, name string) error {
	_, err := do[daemonv1.ApplyPluginResponse](ctx, c, daemonv1.DaemonApplyPluginProcedure, &daemonv1.ApplyPluginRequest{Name: name})
	return err
}

// Sandbox returns what the process of a plugin of the daemon may do; nil: it has none.
//
// # Errors
//
// [tool.CodePermissionDenied] if the daemon is another user's; [tool.CodeUnavailable] if it is
// gone.
func (c *Client) Sandbox(ctx context.Context, name string) (out *plugin.SandboxStatus, err error) {
	r, err := do[daemonv1.GetSandboxResponse](ctx, c, daemonv1.DaemonGetSandboxProcedure, &daemonv1.GetSandboxRequest{Name: name})
	if r.GetSandbox() != nil {
		out = &plugin.SandboxStatus{}
		convert(out, r.GetSandbox())
	}
	return out, err
}

// Logs calls each with the lines of a plugin's journal, oldest first, until there are no more,
// or, if it follows them, until ctx or the daemon ends or each returns an error, which it returns.
//
// # Errors
//
// [tool.CodeNotFound] if there is no such plugin; [tool.CodeUnavailable] if the daemon is gone.
func (c *Client) Logs(ctx context.Context, name string, follow bool, each func(plugin.Line) error) error {
	in, err := stream[daemonv1.WatchResponse](ctx, c, daemonv1.DaemonWatchProcedure, &daemonv1.WatchRequest{Plugin: name, Follow: follow})
	return eachOf(ctx, c, in, err, func(r *daemonv1.WatchResponse) error {
		var line plugin.Line
		convert(&line, r.GetLine())
		return each(line)
	})
}

// eachOf calls each with what a stream has, until it or ctx ends, or each returns an error, which it
// returns.
func eachOf[T any](ctx context.Context, c *Client, in *connect.ServerStreamForClient[T], err error, each func(*T) error) error {
	if err != nil {
		return c.explain(err)
	}
	defer func() { _ = in.Close() }()
	for in.Receive() {
		if err := each(in.Msg()); err != nil {
			return err
		}
	}
	if ctx.Err() != nil {
		return nil
	}
	return c.explain(in.Err())
}

// Sessions returns the named sessions: the caller's own; for the operator, those of all callers.
func (c *Client) Sessions(ctx context.Context) ([]SessionInfo, error) {
	r, err := do[daemonv1.ListSessionsResponse](ctx, c, daemonv1.DaemonListSessionsProcedure, &daemonv1.ListSessionsRequest{})
	return allOf[SessionInfo](r.GetSessions()), err
}

// EndSession ends a session of the caller's own.
//
// # Errors
//
// [tool.CodeNotFound] if the caller has no such session.
func (c *Client) EndSession(ctx context.Context, name string) error {
	_, err := do[daemonv1.EndSessionResponse](ctx, c, daemonv1.DaemonEndSessionProcedure, &daemonv1.EndSessionRequest{Name: name})
	return err
}

// Waiting returns the files whose content waits for the operator's word.
func (c *Client) Waiting(ctx context.Context) ([]Waiting, error) {
	r, err := do[daemonv1.ListWaitingResponse](ctx, c, daemonv1.DaemonListWaitingProcedure, &daemonv1.ListWaitingRequest{})
	return allOf[Waiting](r.GetFiles()), err
}

// Reload makes the daemon read its files again. What waits is applied if its digest is accepted;
// if any is not, nothing is.
func (c *Client) Reload(ctx context.Context, accept ...string) error {
	_, err := do[daemonv1.ReloadResponse](ctx, c, daemonv1.DaemonReloadProcedure, &daemonv1.ReloadRequest{Accept: accept})
	return err
}

// Refresh makes the daemon try again what it refused before. What waits goes on waiting.
func (c *Client) Refresh(ctx context.Context) error {
	_, err := do[daemonv1.RefreshResponse](ctx, c, daemonv1.DaemonRefreshProcedure, &daemonv1.RefreshRequest{})
	return err
}

// How long a daemon may take to end in addition to its calls, and how often Stop looks.
const (
	stopTimeout = 20 * time.Second
	stopPace    = 20 * time.Millisecond
)

// Stop makes the daemon end, as SIGTERM does, and waits until it has given up its socket, which
// is the last thing that it does.
//
// # Errors
//
// [tool.CodeDeadlineExceeded] if it takes much longer than its calls may take; the end of ctx.
func (c *Client) Stop(ctx context.Context) error {
	answer, err := do[daemonv1.StopResponse](ctx, c, daemonv1.DaemonStopProcedure, &daemonv1.StopRequest{})
	if err != nil {
		return err
	}
	limit := time.Duration(answer.GetDrainMs())*time.Millisecond + stopTimeout
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("it has not ended within %v", limit))
	defer cancel()
	tick := time.NewTicker(stopPace) // there is no event for the end of another's child
	defer tick.Stop()
	for isHeld(c.path, c.state.PID) {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return tool.Errorf(tool.CodeOf(ctx.Err()),
				"the daemon (pid %d) was told to end: %v", c.state.PID, context.Cause(ctx)).Fix("see its log")
		}
	}
	return nil
}
