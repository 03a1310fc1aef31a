package mcpserver_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/mcpserver"
	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/require"
)

// bySession is the value of mountedVariable that makes the test's binary a server of each revision that
// asks by its session, as what was written for the SDK before 2026-07-28 does.
const bySession = "by session"

func sessionServer() *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "s", Version: "1"}, nil)
	sent := make(chan map[string]any, 1)
	s.AddSendingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler { // before the SDK fills in defaults
		return func(ctx context.Context, method string, r mcp.Request) (mcp.Result, error) {
			res, err := next(ctx, method, r)
			if answer, ok := res.(*mcp.ElicitResult); ok {
				sent <- maps.Clone(answer.Content)
			}
			return res, err
		}
	})
	tool := func(name string, ask func(context.Context, *mcp.ServerSession) (string, error)) {
		s.AddTool(&mcp.Tool{Name: name, Description: "Asks.", InputSchema: json.RawMessage(`{"type":"object"}`)},
			func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				answer, err := ask(ctx, r.Session)
				if err != nil {
					answer = err.Error()
				}
				return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: answer}}, IsError: err != nil}, nil
			})
	}
	tool("ask", func(ctx context.Context, ss *mcp.ServerSession) (string, error) {
		res, err := ss.Elicit(ctx, &mcp.ElicitParams{Message: "sure?", RequestedSchema: json.RawMessage(
			`{"type":"object","properties":{"n":{"type":"integer","default":42},"s":{"type":"string"}}}`)})
		if err != nil {
			return "", err
		}
		return fmt.Sprint(res.Action, " ", <-sent), nil
	})
	tool("sample", func(ctx context.Context, ss *mcp.ServerSession) (string, error) {
		res, err := ss.CreateMessage(ctx, &mcp.CreateMessageParams{MaxTokens: 1})
		if err != nil {
			return "", err
		}
		return res.Model, nil
	})
	return s
}

// A server of each revision that asks by its session is connected to again with a revision that has them: the call
// that found it out is not repeated, all others are answered, in later processes from the first one on.
func TestServerThatNeedsASession(t *testing.T) {
	t.Parallel()
	everyWay(t, func(t *testing.T, w way) {
		cache := t.TempDir()
		client := func() (*host.Host, *mcp.ClientSession) {
			h := newHost(t, host.WithCache(cache))
			s := serve(t, h, mcpserver.Options{Upstreams: mountedAs(t, h, bySession, "s")}, host.WithApprover(allowed))
			return h, w.connect(t, s, &mcp.ClientOptions{
				ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
					return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"n": 1.0}}, nil
				},
				CreateMessageHandler: func(context.Context, *mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) {
					return &mcp.CreateMessageResult{Content: &mcp.TextContent{Text: "sampled"}, Model: "m", Role: "assistant"}, nil
				},
			})
		}
		answered := func(c *mcp.ClientSession) {
			t.Helper()
			if got := call(t, c, "s_ask", `{}`); text(got) != "accept map[n:1]" {
				t.Errorf("ask: %s", text(got))
			}
			if got := call(t, c, "s_sample", `{}`); text(got) != "m" {
				t.Errorf("sample: %s", text(got))
			}
		}
		h, c := client()
		first, starts := call(t, c, "s_ask", `{}`), 1
		if first.IsError { // as it is unless the server was slow to start, was asked for a session too, and began one
			starts++
			assert.Containsf(t, text(first), "call again", "the first")
		}
		answered(c)
		if got := h.Plugins()[0]; first.IsError && !strings.HasPrefix(got.SDK, "mcp/2025-11-25") || got.Crashes != 0 || got.Starts != starts {
			t.Errorf("%+v", got)
		}
		require.NoError(t, h.Close(context.Background()))
		_, c = client()
		answered(c)
	})
}

// What a person leaves empty reaches the server that asks as it is, and not as the form's default.
func TestEmptyFieldsStayEmpty(t *testing.T) {
	t.Parallel()
	h := newHost(t, host.WithCache(t.TempDir()))
	s := serve(t, h, mcpserver.Options{Upstreams: mountedAs(t, h, bySession, "s")}, host.WithApprover(allowed))
	client := mcp.NewClient(&mcp.Implementation{Name: "form", Version: "1"}, &mcp.ClientOptions{
		ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			return nil, errors.New("not asked")
		},
	})
	client.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler { // the SDK's client fills them in, too
		return func(ctx context.Context, method string, r mcp.Request) (mcp.Result, error) {
			if method != "elicitation/create" {
				return next(ctx, method, r)
			}
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"s": "x"}}, nil
		}
	})
	theirs, ours, _ := pipes()
	go func() { _ = s.Run(context.Background(), ours) }()
	c := require.Must(client.Connect(t.Context(), theirs, &mcp.ClientSessionOptions{ProtocolVersion: "2025-11-25"}))(t)
	defer func() { _ = c.Close() }()
	call(t, c, "s_ask", `{}`) // finds out that it needs a session
	assert.Equal(t, text(call(t, c, "s_ask", `{}`)), "accept map[s:x]")
}
