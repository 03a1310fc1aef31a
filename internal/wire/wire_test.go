package wire_test

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"reflect"
	"strings"
	"sync"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"

	"github.com/toolhost/toolhost/internal/callstage"
	"github.com/toolhost/toolhost/internal/fixture"
	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/internal/wire"
	"github.com/toolhost/toolhost/pluginsdk/tool"
	"github.com/toolhost/toolhost/pluginsdk/tooltest"
	pluginv1 "github.com/toolhost/toolhost/proto/toolhost/plugin/v1"
)

// remote holds both ends of the protocol in one process, as a tool.Provider.
type remote struct {
	*wire.Client
	stop func()
}

func (r *remote) List(ctx context.Context) ([]tool.Definition, error) {
	d, err := r.Describe(ctx, "test")
	return d.Tools, err
}

func (r *remote) Close(context.Context) error {
	r.stop()
	return nil
}

// connect serves s and returns a client.
func connect(t *testing.T, s *wire.Server) *remote {
	t.Helper()
	return dial(t, func(r grpc.ServiceRegistrar) { wire.Register(r, s) })
}

func dial(t *testing.T, register func(grpc.ServiceRegistrar)) *remote {
	t.Helper()
	listener := bufconn.Listen(1 << 20)
	server := wire.ServeConfig(nil).GRPCServer(nil)
	register(server)
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	conn := require.Must(grpc.NewClient("passthrough:///bufconn",
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return listener.DialContext(ctx) }),
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(wire.MaxMessage), grpc.MaxCallSendMsgSize(wire.MaxMessage)),
	))(t)
	var once sync.Once
	r := &remote{Client: wire.NewClient(conn), stop: func() {
		once.Do(func() {
			assert.NoError(t, conn.Close())
			server.Stop()
			assert.NoError(t, <-served)
		})
	}}
	t.Cleanup(r.stop)
	return r
}

func set(t *testing.T, tools ...tool.Tool) *tool.Set {
	t.Helper()
	s := require.Must(tool.NewSet(tools...))(t)
	return s
}

func TestWire(t *testing.T) {
	t.Parallel()
	tooltest.Run(t, func(t *testing.T) tool.Provider {
		return connect(t, &wire.Server{Provider: set(t, fixture.Tools()...)})
	})
}

// odd is a provider that breaks all rules.
type odd struct {
	defs    []tool.Definition
	listErr error
	result  tool.Result
	err     error
}

func (o *odd) List(context.Context) ([]tool.Definition, error) { return o.defs, o.listErr }
func (o *odd) Execute(context.Context, tool.Call) (tool.Result, error) {
	return o.result, o.err
}
func (o *odd) Close(context.Context) error { return nil }

func TestDescribe(t *testing.T) {
	t.Parallel()
	fixture := set(t, fixture.Tools()...)
	connected := 0
	about := wire.Description{
		Name: "name\xff", Version: "1.2.3", SDK: "sdk",
		ConfigSchema: tool.Schema(`{"type":"object"}`), Features: []string{"a", "b"},
		Tools: []tool.Definition{{Name: "not.used"}},
	}
	got := require.Must(connect(t, &wire.Server{Provider: fixture, About: about,
		OnConnect: func() { connected++ }}).Describe(t.Context(), "test"))(t)
	about.Name = "name\uFFFD"
	about.Tools, _ = fixture.List(t.Context())
	if !reflect.DeepEqual(got, about) {
		t.Errorf("%+v\nwant\n%+v", got, about)
	}
	if connected != 1 {
		t.Errorf("OnConnect ran %d times", connected)
	}
}

func TestDescribeGarbledDefinitions(t *testing.T) {
	t.Parallel()
	// One tool's invalid bytes do not affect the others: it arrives and is rejected later.
	got, err := connect(t, &wire.Server{Provider: &odd{defs: []tool.Definition{
		{
			Name: "a\xff", Title: "\xff", Description: "\xff", Categories: []string{"\xff"}, Permission: "\xff",
			Sensitive: []string{"\xff"}, MaxRetries: 1 << 40,
		},
		{Name: "good", Description: "Good."},
	}}}).Describe(t.Context(), "test")
	if err != nil || len(got.Tools) != 2 {
		t.Fatalf("%+v, %v", got, err)
	}
	if got.Tools[0].Check() == nil || got.Tools[1].Check() != nil {
		t.Errorf("%+v", got.Tools)
	}
}

func TestDescribeFails(t *testing.T) {
	t.Parallel()
	_, err := connect(t, &wire.Server{Provider: &odd{listErr: errors.New("no list")}}).Describe(t.Context(), "test")
	if tool.CodeOf(err) != tool.CodeInvalidResult || !strings.Contains(err.Error(), "no list") {
		t.Errorf("%v", err)
	}
	_, err = connect(t, &wire.Server{Provider: &odd{defs: []tool.Definition{{Name: "a",
		Safety: 9}}}}).Describe(t.Context(), "test")
	if e := tool.AsError(err); e == nil || e.Code != tool.CodeInvalidDefinition || e.Tool != "a" ||
		!strings.Contains(e.Message, `tool "a"`) {
		t.Errorf("%+v", e)
	}
}

func TestConfigure(t *testing.T) {
	t.Parallel()
	var got wire.Config
	fail := error(nil)
	c := connect(t, &wire.Server{Provider: &odd{}, OnConfigure: func(_ context.Context, cfg wire.Config) error {
		got = cfg
		return fail
	}})
	want := wire.Config{Root: "/srv/project", JSON: json.RawMessage(`{"a":1}`)}
	if err := c.Configure(t.Context(), want); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v", got, err)
	}
	fail = errors.New("not \xff this")
	if err := c.Configure(t.Context(), want); tool.CodeOf(err) != tool.CodeToolFailed ||
		!strings.Contains(err.Error(), "not ") {
		t.Errorf("%v", err)
	}
	if err := connect(t, &wire.Server{Provider: &odd{}}).Configure(t.Context(), want); err != nil {
		t.Errorf("with nothing to configure: %v", err)
	}
}

func TestExecutePassesTheCallOn(t *testing.T) {
	t.Parallel()
	var got tool.Call
	s := set(t, tool.Tool{Definition: tool.Definition{Name: "t", Description: "d"},
		Handler: func(_ context.Context, c tool.Call) (tool.Result, error) {
			got = c
			return tool.Result{}, nil
		}})
	want := tool.Call{ID: "7", Name: "t", Arguments: json.RawMessage(`{"a": 1}`), Session: "s", Caller: "cli", IdempotencyKey: "k"}
	r, err := connect(t, &wire.Server{Provider: s}).Execute(t.Context(), want)
	if err != nil || !reflect.DeepEqual(got, want) || !reflect.DeepEqual(r, tool.Result{}) {
		t.Errorf("%+v, %+v, %v", got, r, err)
	}
	if _, err := connect(t, &wire.Server{Provider: s}).Execute(t.Context(),
		tool.Call{Name: "no\xff", ID: "\xff"}); !errors.Is(err, tool.ErrNotFound) {
		t.Errorf("a name that is not UTF-8: %v, want an unknown tool", err)
	}
}

func TestExecuteErrorKeepsWhatStandsAroundIt(t *testing.T) {
	t.Parallel()
	inner := &tool.Error{Code: tool.CodeRateLimited, Message: "slow\xff", Hint: "wait", Detail: "secret", Unsent: true,
		Tool: "x"}
	_, err := connect(t, &wire.Server{Provider: &odd{err: errors.Join(inner)}}).Execute(t.Context(), tool.Call{Name: "t"})
	want := &tool.Error{Code: tool.CodeRateLimited, Message: "slow\uFFFD", Hint: "wait", Stage: callstage.Execute,
		Err: wire.ErrClaimed}
	if !reflect.DeepEqual(err, want) {
		t.Errorf("%+v, want %+v", err, want)
	}
}

// strange is a plugin in another language that gives any answer.
type strange struct {
	pluginv1.UnimplementedToolPluginServer
	answer *pluginv1.ExecuteResponse
	err    error
}

func (s *strange) Execute(context.Context, *pluginv1.ExecuteRequest) (*pluginv1.ExecuteResponse, error) {
	return s.answer, s.err
}

func TestExecuteStrangeAnswers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		s    strange
		want tool.Code
	}{
		"neither": {strange{answer: &pluginv1.ExecuteResponse{}}, tool.CodeInvalidResult},
		"an empty error": {strange{answer: &pluginv1.ExecuteResponse{Outcome: &pluginv1.ExecuteResponse_Error{}}},
			tool.CodeToolFailed},
		"unavailable":          {strange{err: status.Error(codes.Unavailable, "x")}, tool.CodeUnavailable},
		"aborted":              {strange{err: status.Error(codes.Aborted, "x")}, tool.CodeUnavailable},
		"canceled, not by us":  {strange{err: status.Error(codes.Canceled, "x")}, tool.CodeUnavailable},
		"deadline, not ours":   {strange{err: status.Error(codes.DeadlineExceeded, "x")}, tool.CodeDeadlineExceeded},
		"resource exhausted":   {strange{err: status.Error(codes.ResourceExhausted, "x")}, tool.CodeResourceExhausted},
		"unimplemented":        {strange{err: status.Error(codes.Unimplemented, "x")}, tool.CodeUnavailable},
		"invalid argument":     {strange{err: status.Error(codes.InvalidArgument, "x")}, tool.CodeToolFailed},
		"failed precondition":  {strange{err: status.Error(codes.FailedPrecondition, "x")}, tool.CodeToolFailed},
		"unknown":              {strange{err: errors.New("x")}, tool.CodeInvalidResult},
		"a code out of bounds": {strange{err: status.Error(99, "x")}, tool.CodeInvalidResult},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			strange := dial(t, func(r grpc.ServiceRegistrar) { pluginv1.RegisterToolPluginServer(r, &c.s) })
			_, err := strange.Execute(t.Context(), tool.Call{Name: "t"})
			assert.Equalf(t, tool.CodeOf(err), c.want, "%+v, want %s", err, c.want)
		})
	}
}

func TestExecuteTooLarge(t *testing.T) {
	t.Parallel()
	c := connect(t, &wire.Server{Provider: &odd{result: tool.Text(strings.Repeat("x", wire.MaxMessage))}})
	_, err := c.Execute(t.Context(), tool.Call{Name: "t"})
	assert.Equalf(t, tool.CodeOf(err), tool.CodeResourceExhausted, "%v, want %s", err, tool.CodeResourceExhausted)
}

func TestExecuteWithoutAConnection(t *testing.T) {
	t.Parallel()
	c := connect(t, &wire.Server{Provider: &odd{}})
	c.stop()
	if _, err := c.Execute(t.Context(), tool.Call{Name: "t"}); tool.CodeOf(err) != tool.CodeUnavailable {
		t.Errorf("%v, want %s", err, tool.CodeUnavailable)
	}
}
