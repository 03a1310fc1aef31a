package control_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/activity"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/approval"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/control"
	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/audit"
	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
	daemonv1 "github.com/toolhost/toolhost/proto/toolhost/daemon/v1"
)

// service is a host with tools of this process, and the outcome of its calls.
type service struct {
	control.Own
	began, ended chan string // names of tools
	reload       error
	queue        *approval.Queue
	meter        *activity.Meter
}

func (s *service) Look() *activity.Watch { return s.meter.Watch(s.Host, s.queue.Len) }

func newService(t *testing.T) *service {
	t.Helper()
	meter := activity.New()
	hooks := policy.Hooks{Before: meter.Begin, After: meter.End, Error: meter.End}
	h := require.Must(host.New(host.WithHooks(hooks), host.WithRoot(t.TempDir()), host.WithAdmission(control.MaxCalls), host.WithDefaults(func(all *plugin.Settings) {
		all.Limits.Running, all.Limits.Waiting = 0, 0
	})))(t)
	all := func(control.Caller) func(tool.Definition) bool { return func(tool.Definition) bool { return true } }
	s := &service{Own: control.Own{Host: h, Sees: all}, queue: approval.NewQueue(nil), meter: meter, began: make(chan string, 1000), ended: make(chan string, 1000)}
	wait := func(ctx context.Context, call tool.Call) (tool.Result, error) {
		s.began <- call.Name
		<-ctx.Done()
		s.ended <- call.Name
		return tool.Result{}, ctx.Err()
	}
	echo := func(_ context.Context, call tool.Call) (tool.Result, error) {
		return tool.Result{Structured: append([]byte(" "), call.Arguments...)}, nil
	}
	blocks := func(context.Context, tool.Call) (tool.Result, error) {
		return tool.Result{IsError: true, Content: []tool.Content{
			tool.TextContent{Text: "<\u2028>"}, tool.ImageContent{Data: []byte{0, 255}, MIMEType: "image/png"},
			tool.ResourceContent{URI: "x:y", Blob: []byte{}}, tool.ResourceLink{URI: "x:z"},
		}}, nil
	}
	preview := func(context.Context, tool.Call) (tool.Result, error) { return tool.Text("it would <change>"), nil }
	fail := func(context.Context, tool.Call) (tool.Result, error) {
		return tool.Result{}, &tool.Error{Code: tool.CodeRateLimited, Message: "too <much>", Hint: "wait (a bit)", Detail: "two\nlines", RetryAfter: tool.Duration(time.Second), Plugin: "p"}
	}
	object := tool.Schema(`{"type":"object","description":"<any>","additionalProperties":true}`)
	for _, x := range []tool.Tool{
		{Definition: tool.Definition{Name: "wait", Description: "Waits.", Safety: tool.Safe}, Handler: wait},
		{Definition: tool.Definition{Name: "x.echo", Description: "Echoes.", Safety: tool.Safe, InputSchema: object, Categories: []string{"odd"}}, Handler: echo},
		{Definition: tool.Definition{Name: "blocks", Description: "Answers.", Safety: tool.Safe}, Handler: blocks},
		{Definition: tool.Definition{Name: "fail", Description: "Fails.", Safety: tool.Safe}, Handler: fail},
		{Definition: tool.Definition{Name: "danger", Description: "Destroys.", InputSchema: object}, Handler: echo, Preview: preview},
	} {
		require.NoError(t, h.Register(x))
	}
	return s
}

func (s *service) State() control.State {
	return control.State{PID: os.Getpid(), Calls: s.Host.Status().Calls, Tools: s.Host.Len(), Identity: control.Identity{Root: s.Host.Root()}}
}

// visitor is a user who may call tools.
const visitor = 65533

func (s *service) Caller(uid int) (control.Caller, bool) {
	if uid == visitor {
		return control.Caller{Name: "visitor"}, true
	}
	return control.Caller{Name: "own", Operator: true}, uid == os.Geteuid()
}

func (s *service) ListSessions(ctx context.Context, _ *daemonv1.ListSessionsRequest) (*daemonv1.ListSessionsResponse, error) {
	return &daemonv1.ListSessionsResponse{Sessions: []*daemonv1.Session{{Caller: control.CallerOf(ctx).Name, Name: "work"}}}, nil
}

func (s *service) EndSession(ctx context.Context, r *daemonv1.EndSessionRequest) (*daemonv1.EndSessionResponse, error) {
	if c := control.CallerOf(ctx); c.Name != "own" || r.GetName() != "work" {
		return nil, tool.Errorf(tool.CodeNotFound, "%s has no %s", c.Name, r.GetName())
	}
	return &daemonv1.EndSessionResponse{}, nil
}

func (s *service) Run(ctx context.Context, by control.Caller, c control.Call, a policy.Approver) control.Answer {
	if c.Name == "hold" { // whatever its arguments are
		s.began <- c.Name
		<-ctx.Done()
		return control.Answer{}.Failed(tool.Errorf(tool.CodeCanceled, "%w", ctx.Err()))
	}
	session := s.Host.Session(host.WithCaller(host.Caller{Name: by.Name}), host.WithGrants(c.Grants...), host.WithApprover(a))
	if c.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, c.Timeout)
		defer cancel()
	}
	out, res, err := session.CallWith(ctx, tool.Call{Name: c.Name, Arguments: c.Arguments}, host.CallOptions{})
	return control.Answer{Outcome: out, Result: res, Err: err}
}

func (s *service) Approvals() *approval.Queue { return s.queue }

func (s *service) Record(audit.Record, error) {}

func (s *service) Numbers() http.Handler { return http.NotFoundHandler() }

func (s *service) WaitDurable(context.Context, control.Caller, string) control.Answer {
	return control.Answer{}.Failed(tool.Errorf(tool.CodeUnsupported, "in no fleet"))
}

func (s *service) Reload(context.Context, *daemonv1.ReloadRequest) (*daemonv1.ReloadResponse, error) {
	return &daemonv1.ReloadResponse{}, s.reload
}

func (s *service) Close(ctx context.Context) error { return s.Host.Close(ctx) }

// daemon is a server on a socket of its own.
type daemon struct {
	*service
	t      *testing.T
	path   string
	server *control.Server
	stop   func() // in good order, once
}

// newDaemon starts a daemon that was prepared.
func newDaemon(t *testing.T, prepare ...func(*control.Server)) *daemon {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "thc-") // a short path
	require.NoError(t, err)
	d := &daemon{service: newService(t), t: t, path: filepath.Join(dir, "c.sock")}
	claim := require.Must(control.Take(d.path, control.Holder{PID: os.Getpid(), Root: "/here"}))(t)
	ln := require.Must(claim.Listen(control.MaxConnections, admits, func(err error) { t.Error(err) }))(t)
	d.server = control.NewServer(d.service, hclog.NewNullLogger())
	for _, p := range prepare {
		p(d.server)
	}
	served := make(chan error, 1)
	go func() { served <- d.server.Serve(ln) }()
	d.stop = sync.OnceFunc(func() {
		ended, cancel := context.WithCancel(context.Background())
		cancel()
		d.server.Shutdown(ended)
		assert.NoError(t, <-served)
		assert.NoError(t, claim.Release())
		left, err := os.ReadDir(dir)
		if err != nil || len(left) > 0 {
			t.Errorf("it leaves %v, %v", left, err)
		}
		_ = os.RemoveAll(dir)
	})
	t.Cleanup(d.stop)
	return d
}

func (d *daemon) client() *control.Client {
	d.t.Helper()
	c, err := control.Dial(d.t.Context(), d.path, false)
	if err != nil {
		d.t.Fatal(err)
	}
	return c
}

func (d *daemon) connect() net.Conn {
	d.t.Helper()
	conn, err := net.Dial("unix", d.path)
	if err != nil {
		d.t.Fatal(err)
	}
	d.t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// serves checks that the daemon does its work.
func (d *daemon) serves() {
	d.t.Helper()
	if a := d.client().Call(d.t.Context(), control.Call{Name: "x.echo", Arguments: []byte(`{}`)}, nil); a.Err != nil {
		d.t.Error(a.Err)
	}
}

const api = "/toolhost.daemon.v1.Daemon/"

// post returns a request without a stream, in JSON, as curl sends it.
func post(call, body string) string {
	return fmt.Sprintf("POST %s%s HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
		api, call, len(body), body)
}

// stream returns a request that is answered with a stream.
func stream(call, body string) string {
	return fmt.Sprintf("POST %s%s HTTP/1.1\r\nHost: x\r\nContent-Type: application/connect+json\r\nContent-Length: %d\r\n\r\n%s%s",
		api, call, len(body)+5, binary.BigEndian.AppendUint32([]byte{0}, uint32(len(body))), body)
}

// state asks for the state, and has the daemon hang up then.
var state = strings.Replace(post("GetState", "{}"), "Host: x", "Host: x\r\nConnection: close", 1)

func same(t *testing.T, what string, got, want any) {
	t.Helper()
	g := require.Must(json.Marshal(got))(t)
	w := require.Must(json.Marshal(want))(t)
	if !bytes.Equal(g, w) {
		t.Errorf("%s is\n%s\nwant\n%s", what, g, w)
	}
}

// What comes over the socket is what the host said.
func TestCall(t *testing.T) {
	t.Parallel()
	d := newDaemon(t)
	c := d.client()
	for _, call := range []control.Call{
		{Name: "x.echo", Arguments: []byte(`{"text": "<&>", "n": 1.50}`)},
		{Name: "x_echo", Arguments: []byte("{}")},
		{Name: "x.echo", Arguments: []byte(`{"text":`)},
		{Name: "blocks"},
		{Name: "fail"},
		{Name: "no such & tool?"},
		{Name: "danger"},
	} {
		want, got := d.Run(t.Context(), control.Caller{}, call, nil), c.Call(t.Context(), call, nil)
		same(t, "the result", got.Result, want.Result)
		if string(got.Result.Structured) != string(want.Result.Structured) {
			t.Errorf("the structured part is %q, want %q", got.Result.Structured, want.Result.Structured)
		}
		want.Outcome.ID, want.Outcome.Metadata.ExecutionTimeMS, want.Outcome.Metadata.Phases = "", 0, policy.Phases{}
		got.Outcome.ID, got.Outcome.Metadata.ExecutionTimeMS, got.Outcome.Metadata.Phases = "", 0, policy.Phases{}
		same(t, "the outcome", got.Outcome, want.Outcome)
		if (got.Err == nil) != (want.Err == nil) {
			t.Fatalf("the error is %v, want %v", got.Err, want.Err)
		}
		if want.Err != nil {
			g, w := *tool.AsError(got.Err), *tool.AsError(want.Err)
			g.Err, w.Err, w.Unsent = nil, nil, false // these do not travel
			if g != w || g.Error() != want.Err.Error() {
				t.Errorf("the error is\n%+v\nwant\n%+v", g, w)
			}
		}
	}
}

func TestTools(t *testing.T) {
	t.Parallel()
	d := newDaemon(t)
	if err := d.Host.Reconfigure(host.WithOverrides(map[string]host.Override{"x.echo": {Safety: tool.Dangerous, Name: "y.echo", Approval: policy.AllowAll}})); err != nil {
		t.Fatal(err)
	}
	c := d.client()
	for _, f := range []host.Filter{{}, {MaxSafety: tool.Safe}, {Categories: []string{"odd", "x"}}, {Search: "WAIT"}, {Search: "nothing"}} {
		got := require.Must(c.Tools(t.Context(), f))(t)
		want := d.Host.Tools(f)
		same(t, "the list", got, want)
		for i := range got {
			same(t, "the claim", got[i].Claimed, want[i].Claimed)
			same(t, "the schema", string(got[i].InputSchema), string(want[i].InputSchema))
		}
	}
	if x, ok, err := c.Tool(t.Context(), "y_echo"); !ok || err != nil || x.Name != "y.echo" || x.Claimed.Name != "x.echo" {
		t.Errorf("the tool is %+v, %v, %v", x, ok, err)
	}
	if _, ok, err := c.Tool(t.Context(), "x.echo"); ok || err != nil {
		t.Errorf("it is there: %v, %v", ok, err)
	}
	if _, err := control.Do(t.Context(), c, daemonv1.DaemonHandler.RestartPlugin, &daemonv1.RestartPluginRequest{Name: "a/b"}); tool.CodeOf(err) != tool.CodeNotFound || !strings.Contains(err.Error(), "a/b") {
		t.Errorf("a plugin that is not there: %v", err)
	}
	if _, err := control.Do(t.Context(), c, daemonv1.DaemonHandler.Reload, &daemonv1.ReloadRequest{}); err != nil {
		t.Error(err)
	}
	d.reload = errors.New("line 7 is bad")
	if _, err := control.Do(t.Context(), c, daemonv1.DaemonHandler.Reload, &daemonv1.ReloadRequest{}); err == nil || err.Error() != "line 7 is bad" {
		t.Errorf("the reload says %v", err)
	}
}

// A client of a host of this process does the same as one of a daemon, with no socket.
func TestAlone(t *testing.T) {
	t.Parallel()
	d := newDaemon(t)
	alone, remote := control.Alone(d.service, nil), d.client()
	d.stop()
	if !alone.Alone() || remote.Alone() {
		t.Error("who is alone is not known")
	}
	same(t, "the list", require.Must(alone.Tools(t.Context(), host.Filter{Search: "echo"}))(t), d.Host.Tools(host.Filter{Search: "echo"}))
	call := control.Call{Name: "danger", Arguments: []byte(`{"a": 1}`)}
	asked := policy.ApproverFunc(func(_ context.Context, r policy.Request) (policy.Decision, error) {
		return policy.Decision{Verdict: policy.Allow, Reason: r.Definition.Name}, nil
	})
	if a := alone.Call(t.Context(), call, asked); a.Err != nil || string(a.Result.Structured) != ` {"a": 1}` {
		t.Errorf("the call ends with %+v", a)
	}
	_, err := control.Do(t.Context(), alone, daemonv1.DaemonHandler.RestartPlugin, &daemonv1.RestartPluginRequest{Name: "a/b"})
	assert.Equalf(t, tool.CodeOf(err), tool.CodeNotFound, "a plugin that is not there: %v", err)
	if _, err := remote.Tools(t.Context(), host.Filter{}); tool.CodeOf(err) != tool.CodeUnavailable {
		t.Errorf("the daemon that has ended: %v", err)
	}
}

func TestApproval(t *testing.T) {
	t.Parallel()
	d := newDaemon(t)
	c := d.client()
	call := control.Call{Name: "danger", Arguments: []byte(`{"text": "<&>"}`)}
	for name, x := range map[string]struct {
		decision policy.Decision
		err      error
		code     tool.Code
		says     string
	}{
		"yes":      {policy.Decision{Verdict: policy.Allow}, nil, "", ` {"text":"<&>"}`},
		"no":       {policy.Decision{Verdict: policy.Deny, Reason: "not today"}, nil, tool.CodeApprovalDenied, "not today"},
		"changed":  {policy.Decision{Verdict: policy.Modify, Arguments: []byte(`{"other":1}`)}, nil, "", ` {"other":1}`},
		"a bad no": {policy.Decision{Verdict: policy.Modify, Arguments: []byte(`[]`)}, nil, tool.CodeInvalidArguments, ""},
		"an error": {policy.Decision{Verdict: policy.Allow}, errors.New("no terminal"), tool.CodeApprovalDenied, "no terminal"},
	} {
		var asked policy.Request
		a := c.Call(t.Context(), call, policy.ApproverFunc(func(ctx context.Context, r policy.Request) (policy.Decision, error) {
			asked = r
			res, err := r.Preview(ctx)
			if err != nil || res.Text() != "it would <change>" {
				t.Errorf("%s: the preview is %q, %v", name, res.Text(), err)
			}
			return x.decision, x.err
		}))
		if asked.Call.Name != "danger" || string(asked.Call.Arguments) != `{"text": "<&>"}` || asked.Definition.Description != "Destroys." || asked.Session == "" {
			t.Errorf("%s: asked about %+v", name, asked)
		}
		if code := tool.CodeOf(a.Err); code != x.code {
			t.Errorf("%s: the code is %q, want %q: %v", name, code, x.code, a.Err)
		}
		if text := a.Outcome.Content; !strings.Contains(strings.ReplaceAll(text, ": ", ":"), x.says) {
			t.Errorf("%s: the outcome is %q, without %q", name, text, x.says)
		}
	}
}

// A call ends when its caller goes away; who waits for an answer goes with it.
func TestCancel(t *testing.T) {
	t.Parallel()
	d := newDaemon(t)
	ctx, cancel := context.WithCancel(t.Context())
	answered, c := make(chan control.Answer, 1), d.client()
	go func() { answered <- c.Call(ctx, control.Call{Name: "wait"}, nil) }()
	<-d.began
	cancel()
	a := <-answered
	if tool.CodeOf(a.Err) != tool.CodeCanceled || a.Outcome.Metadata.Attempts != 1 {
		t.Errorf("it ends with %v, %+v", a.Err, a.Outcome)
	}
	<-d.ended

	conn := d.connect()
	_, _ = io.WriteString(conn, stream("Call", `{"name": "wait"}`))
	<-d.began
	_ = conn.Close()
	<-d.ended

	ctx, cancel = context.WithCancel(t.Context())
	a = d.client().Call(ctx, control.Call{Name: "danger"}, policy.ApproverFunc(func(ctx context.Context, _ policy.Request) (policy.Decision, error) {
		cancel()
		<-ctx.Done()
		return policy.Decision{}, ctx.Err()
	}))
	assert.Equalf(t, tool.CodeOf(a.Err), tool.CodeCanceled, "the question ends with %v", a.Err)
	a = d.client().Call(t.Context(), control.Call{Name: "danger", Timeout: time.Millisecond}, policy.ApproverFunc(func(ctx context.Context, _ policy.Request) (policy.Decision, error) {
		<-ctx.Done() // which only the daemon can bring about
		return policy.Decision{}, ctx.Err()
	}))
	assert.Equalf(t, tool.CodeOf(a.Err), tool.CodeDeadlineExceeded, "the question ends with %v", a.Err)
}

// A client that sends nonsense gets an error or loses the connection, and does no harm.
func TestNonsense(t *testing.T) {
	t.Parallel()
	d := newDaemon(t)
	for name, c := range map[string]struct{ send, want string }{
		"bytes":              {"\x16\x03\x01\x00\xff\x00\r\n\r\n", "400"},
		"text":               {"hello, world\r\n\r\n", "400"},
		"a long line":        {strings.Repeat("x", 1<<20), "431"},
		"a long header":      {"GET /metrics HTTP/1.1\r\nHost: x\r\nX: " + strings.Repeat("x", 1<<20) + "\r\n\r\n", "431"},
		"an unknown path":    {"GET /v2/state HTTP/1.0\r\n\r\n", "404"},
		"an unknown call":    {post("Explode", "{}"), "404"},
		"an unknown method":  {strings.Replace(state, "POST", "PUT", 1), "405"},
		"an unknown type":    {strings.Replace(state, "/json", "/xml", 1), "415"},
		"no JSON":            {post("GetState", "{"), "400"},
		"an unknown field":   {post("GetState", `{"who":1}`), "200"},
		"a large body":       {post("ListTools", strings.Repeat("x", control.MaxArguments+1<<20+1)), "429"},
		"a bad level":        {post("ListTools", `{"maxSafety":"x"}`), "400"},
		"a decision":         {post("DecideCall", `{"id":"x"}`), "404"},
		"an unknown preview": {post("PreviewCall", `{"id":"x"}`), "404"},
	} {
		conn := d.connect()
		// The daemon may hang up before all is written.
		go func() { _, _ = io.WriteString(conn, c.send) }()
		line, err := bufio.NewReader(conn).ReadString('\n')
		if fields := strings.Fields(line); len(fields) < 2 || fields[1] != c.want {
			t.Errorf("%s: it answers %q, %v, want %s", name, line, err, c.want)
		}
		_ = conn.Close()
	}
	for _, body := range []string{`{"name":"x.echo","grants":["?"]}`, `{"name":"x.echo","timeoutMs":-1}`, `{"name":"x.echo","session":"?"}`} {
		conn := d.connect()
		_, _ = io.WriteString(conn, stream("Call", body))
		assert.Containsf(t, untilEnd(t, conn), `"invalid_argument"`, "%s: it answers", body)
	}
	d.serves()
}

// untilEnd returns what a stream has, with its frames.
func untilEnd(t *testing.T, conn net.Conn) string {
	t.Helper()
	answer := require.Must(http.ReadResponse(bufio.NewReader(conn), nil))(t) //nolint:bodyclose // below
	defer answer.Body.Close()                                                //nolint:errcheck // it was only read
	return string(require.Must(io.ReadAll(answer.Body))(t))
}

// A decision that is invalid, or answers no question, changes nothing.
func TestNonsenseInAnApproval(t *testing.T) {
	t.Parallel()
	d := newDaemon(t)
	conn := d.connect()
	_, _ = io.WriteString(conn, stream("Call", `{"name": "danger", "approves": true}`))
	answer := require.Must(http.ReadResponse(bufio.NewReader(conn), nil))(t) //nolint:bodyclose // below
	defer answer.Body.Close()                                                //nolint:errcheck // it was only read
	next := func() string {
		head := make([]byte, 5)
		require.Must(io.ReadFull(answer.Body, head))(t)
		text := make([]byte, binary.BigEndian.Uint32(head[1:]))
		require.Must(io.ReadFull(answer.Body, text))(t)
		return string(text)
	}
	var first struct{ Begun string }
	require.NoError(t, json.Unmarshal([]byte(next()), &first))
	if text := next(); !strings.HasPrefix(text, `{"approval":`) {
		t.Fatalf("%q", text)
	}
	decide := func(body string) string {
		c := d.connect()
		_, _ = io.WriteString(c, post("DecideCall", fmt.Sprintf(`{"id": %q, "decision": %s}`, first.Begun, body)))
		line, _ := bufio.NewReader(c).ReadString('\n')
		return line
	}
	for body, want := range map[string]string{"": " 400 ", "yes": " 400 ", `{"verdict":"sure"}`: " 400 ", `{}`: " 400 ", `null`: " 400 "} {
		assert.Containsf(t, decide(body), want, "to %q it answers", body)
	}
	assert.Containsf(t, decide(`{"verdict":"allow"}`), " 200 ", "to a yes it answers")
	if text := next(); !strings.HasPrefix(text, `{"ended":`) || !strings.Contains(text, `"result":`) {
		t.Errorf("it ends with %q", text)
	}
}

// A client that sends nothing, or not all of a request, loses the connection.
func TestSilence(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"nothing":       "",
		"half a header": "GET /metrics HTTP/1.1\r\nHost: ",
		"no next one":   post("GetState", "{}"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDaemon(t)
			conn := d.connect()
			require.Must(io.WriteString(conn, text))(t)
			if _, err := io.Copy(io.Discard, conn); err != nil { // until the daemon hangs up
				t.Error(err)
			}
			d.serves()
		})
	}
}

// Connections beyond the limit wait, and are served when others end.
func TestManyConnections(t *testing.T) {
	t.Parallel()
	d := newDaemon(t)
	for range control.MaxConnections + 10 {
		d.connect()
	}
	conn := d.connect()
	require.Must(io.WriteString(conn, state))(t)
	if line, err := bufio.NewReader(conn).ReadString('\n'); err != nil || !strings.Contains(line, " 200 ") {
		t.Errorf("it answers %q, %v", line, err)
	}
}

// Of many calls of one caller some are refused, and leave places for others, and connections for everything else.
func TestManyCalls(t *testing.T) {
	t.Parallel()
	d := newDaemon(t)
	c := d.client()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	const most = control.MaxCalls / 2
	const calls = most + 12
	codes := make(chan tool.Code, calls)
	for range calls {
		go func() { codes <- tool.CodeOf(c.Call(ctx, control.Call{Name: "wait"}, nil).Err) }()
	}
	for range calls - most {
		assert.Equalf(t, <-codes, tool.CodeResourceExhausted, "a call too many ends with")
	}
	for range most {
		<-d.began
	}
	state := d.client().State()
	if state.Calls != most {
		t.Errorf("%d calls are under way", state.Calls)
	}
	if a := d.Run(t.Context(), control.Caller{Name: "other"}, control.Call{Name: "x.echo", Arguments: []byte("{}")}, nil); a.Err != nil {
		t.Errorf("another caller: %v", a.Err)
	}
	cancel()
	for range most {
		assert.Equalf(t, <-codes, tool.CodeCanceled, "a call ends with")
	}
}

// A server that ends waits for no connection that says nothing, and tells callers.
func TestShutdown(t *testing.T) {
	t.Parallel()
	d := newDaemon(t, (*control.Server).Patient)
	silent := d.connect()
	answered := make(chan control.Answer, 1)
	go func() { answered <- d.client().Call(t.Context(), control.Call{Name: "wait"}, nil) }()
	<-d.began
	d.stop()
	if a := <-answered; tool.CodeOf(a.Err) != tool.CodeCanceled || a.Outcome.Metadata.Attempts != 1 {
		t.Errorf("the call ends with %v", a.Err)
	}
	if _, err := silent.Read(make([]byte, 1)); err == nil {
		t.Error("the silent one was told something")
	}
	if _, err := control.Dial(t.Context(), d.path, false); !errors.Is(err, control.ErrNoDaemon) {
		t.Errorf("there is a daemon: %v", err)
	}
}

// A process that is not a daemon may listen on the socket.
func TestDialNonsense(t *testing.T) {
	t.Parallel()
	dir := require.Must(os.MkdirTemp("/tmp", "thc-"))(t)
	defer func() { _ = os.RemoveAll(dir) }()
	for name, says := range map[string]string{
		"closes": "", "garbage": "\x00\x01\x02\r\n\r\n", "html": "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n<html>",
		"empty": "HTTP/1.1 200 OK\r\nContent-Type: application/proto\r\nContent-Length: 0\r\n\r\n", "no such thing": "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n",
	} {
		path := filepath.Join(dir, strings.ReplaceAll(name, " ", ""))
		ln, err := net.Listen("unix", path)
		require.NoError(t, err)
		go func() {
			for {
				conn, err := ln.Accept()
				if err != nil {
					return
				}
				_, _ = io.WriteString(conn, says)
				_ = conn.Close()
			}
		}()
		_, err = control.Dial(t.Context(), path, false)
		if tool.CodeOf(err) != tool.CodeUnavailable || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v", name, err)
		}
		_ = ln.Close()
	}
	// One that says nothing is not waited for.
	ln := require.Must(net.Listen("unix", filepath.Join(dir, "silent")))(t)
	defer func() { _ = ln.Close() }()
	if _, err := control.Dial(t.Context(), ln.Addr().String(), false); tool.CodeOf(err) != tool.CodeUnavailable {
		t.Errorf("a silent one: %v", err)
	}
	for _, path := range []string{filepath.Join(dir, "nowhere", "x"), filepath.Join(dir, strings.Repeat("x", 200)), dir} {
		if _, err := control.Dial(t.Context(), path, false); !errors.Is(err, control.ErrNoDaemon) {
			t.Errorf("%s: %v", path, err)
		}
	}
}
