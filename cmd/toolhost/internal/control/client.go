package control

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/fleet"
	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/journal"
	"github.com/toolhost/toolhost/pluginsdk/tool"
	daemonv1 "github.com/toolhost/toolhost/proto/toolhost/daemon/v1"
)

// ErrNoDaemon reports that no daemon serves on a socket.
var ErrNoDaemon = errors.New("no daemon is running")

// Client is the command's end: of a daemon, to which each request has a connection of its own, or of a host of
// the command's own, whose handlers it calls.
type Client struct {
	// Dirs are the plugin directories.
	Dirs []string

	own     Service // nil: there is a daemon
	path    string
	foreign bool // the daemon may be that of another user
	http    *http.Client
	state   State // of the daemon when it was dialed
}

// Alone returns the client of a host of this process.
func Alone(s Service, dirs []string) *Client { return &Client{own: s, Dirs: dirs} }

// Alone reports whether the host is the command's own.
func (c *Client) Alone() bool { return c.own != nil }

// Close ends a host of the command's own, and leaves a daemon as it is.
func (c *Client) Close(ctx context.Context) error {
	if c.own == nil {
		return nil
	}
	return c.own.Close(ctx)
}

// maxAnswer bounds a message that a command reads, in bytes: an answer of 64 MiB, or its arguments, if
// the command is asked about them.
const maxAnswer = 256 << 20

// Dial connects to the daemon on a socket and asks for its state. Foreign allows a daemon of another user, who gets
// the arguments of calls.
//
// # Errors
//
// [ErrNoDaemon] if there is none; [tool.CodePermissionDenied] if the socket belongs to another
// user; [tool.CodeUnavailable] if the daemon does not answer in time or as it should.
func Dial(ctx context.Context, path string, foreign bool) (*Client, error) {
	if _, err := os.Lstat(path); CheckPath(path) != nil || errors.Is(err, fs.ErrNotExist) {
		return nil, ErrNoDaemon // before anything is prepared for a request, which takes half a millisecond
	}
	c := &Client{path: path, foreign: foreign, http: &http.Client{Transport: &http.Transport{
		DisableKeepAlives: true, DisableCompression: true, MaxResponseHeaderBytes: maxHeader,
		DialContext: func(context.Context, string, string) (net.Conn, error) { return connectTo(path, foreign) },
	}}}
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	r, err := ask(ctx, c, daemonv1.DaemonHandler.GetState, &daemonv1.GetStateRequest{})
	c.state = Struct[State](r.GetState())
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

// clientOf returns a client for one call, whose name is that of its request: the generated one prepares all
// thirty, which takes a command a millisecond.
func clientOf[Request, Answer any](c *Client) *connect.Client[Request, Answer] {
	request := string(any(new(Request)).(proto.Message).ProtoReflect().Descriptor().Name())
	address := "http://toolhost/" + daemonv1.DaemonName + "/" + strings.TrimSuffix(request, "Request")
	return connect.NewClient[Request, Answer](c.http, address,
		connect.WithAcceptCompression("gzip", nil, nil), connect.WithReadMaxBytes(maxAnswer))
}

// unary and streaming are calls of the contract, such as [daemonv1.DaemonHandler.GetState].
type (
	unary[Request, Answer any]    func(daemonv1.DaemonHandler, context.Context, *Request) (*Answer, error)
	streaming[Request, Event any] func(daemonv1.DaemonHandler, context.Context, *Request, *connect.ServerStream[Event]) error
)

// ask sends a request that has one answer.
func ask[Request, Answer any](ctx context.Context, c *Client, call unary[Request, Answer], r *Request) (*Answer, error) {
	if c.own != nil {
		return call(c.own, ctx, r)
	}
	answer, err := clientOf[Request, Answer](c).CallUnary(ctx, connect.NewRequest(r))
	if err != nil {
		return nil, err
	}
	return answer.Msg, nil
}

// Do sends a request that has one answer. Its error is for people: [tool.CodeUnavailable] if the daemon is gone, else
// that of the daemon.
func Do[Request, Answer any](ctx context.Context, c *Client, call unary[Request, Answer], r *Request) (*Answer, error) {
	answer, err := ask(ctx, c, call, r)
	return answer, c.explain(err)
}

// stream sends a request that is answered with a stream.
func stream[Request, Event any](
	ctx context.Context, c *Client, _ streaming[Request, Event], r *Request,
) (*connect.ServerStreamForClient[Event], error) {
	return clientOf[Request, Event](c).CallServerStream(ctx, connect.NewRequest(r))
}

// State returns the state of the daemon at the time of [Dial], or that of the host now.
func (c *Client) State() State {
	if c.own != nil {
		return c.own.State()
	}
	return c.state
}

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
	list, err := Do(ctx, c, daemonv1.DaemonHandler.ListTools, r)
	out := Structs[host.Tool](list.GetTools())
	for i, t := range list.GetTools() {
		out[i].Claimed = Struct[tool.Definition](t.GetClaimed())
	}
	return out, err
}

// Sandbox returns what the process of a plugin may do; nil: it has none, or the daemon is another user's, who is told.
func (c *Client) Sandbox(ctx context.Context, name string) (*plugin.SandboxStatus, error) {
	r, err := Do(ctx, c, daemonv1.DaemonHandler.GetSandbox, &daemonv1.GetSandboxRequest{Name: name})
	if tool.CodeOf(err) == tool.CodePermissionDenied {
		return nil, nil //nolint:nilnil // as documented
	}
	if r.GetSandbox() == nil {
		return nil, err
	}
	return new(Struct[plugin.SandboxStatus](r.GetSandbox())), err
}

// Logs calls each with what the daemon has of a plugin's journal, oldest first, until there is no more,
// or, if it follows, until ctx or the daemon ends or each returns an error, which it returns.
//
// # Errors
//
// [tool.CodeNotFound] if there is no such plugin; [tool.CodeUnavailable] if the daemon is gone.
func (c *Client) Logs(ctx context.Context, name string, follow bool, each func(journal.Entry) error) error {
	in, err := stream(ctx, c, daemonv1.DaemonHandler.Watch, &daemonv1.WatchRequest{Plugin: name, Follow: follow})
	return eachOf(ctx, c, in, err, func(r *daemonv1.WatchResponse) error { return each(Struct[journal.Entry](r.GetLine())) })
}

// Activity calls each with what the daemon does, now and at each pace, until ctx or the daemon ends, or each
// returns an error, which it returns.
func (c *Client) Activity(ctx context.Context, pace time.Duration, each func(*daemonv1.Activity) error) error {
	in, err := stream(ctx, c, daemonv1.DaemonHandler.Watch, &daemonv1.WatchRequest{ActivityMs: int32(pace.Milliseconds())})
	return eachOf(ctx, c, in, err, func(r *daemonv1.WatchResponse) error { return each(r.GetActivity()) })
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
	r, err := Do(ctx, c, daemonv1.DaemonHandler.ListSessions, &daemonv1.ListSessionsRequest{})
	return Structs[SessionInfo](r.GetSessions()), err
}

// FleetHosts returns the hosts of the daemon's fleet.
//
// # Errors
//
// [tool.CodeUnsupported] if it is in none.
func (c *Client) FleetHosts(ctx context.Context) ([]fleet.HostStatus, error) {
	v, err := c.FleetView(ctx, "")
	return v.Hosts, err
}

// FleetView returns the fleet as a host sees it. Empty: the daemon's.
//
// # Errors
//
// [tool.CodeUnsupported] if the daemon is in none; those of [fleet.Fleet.View].
func (c *Client) FleetView(ctx context.Context, on string) (fleet.View, error) {
	r, err := Do(ctx, c, daemonv1.DaemonHandler.ListFleetHosts, &daemonv1.ListFleetHostsRequest{On: on})
	return Struct[fleet.View](r), err
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
	answer, err := Do(ctx, c, daemonv1.DaemonHandler.Stop, &daemonv1.StopRequest{})
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
