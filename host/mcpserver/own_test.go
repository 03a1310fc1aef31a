package mcpserver_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/audit"
	"github.com/toolhost/toolhost/host/mcpserver"
	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/mcptest"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// written are the lines of an audit log.
type written struct {
	mu  sync.Mutex
	all []audit.Record
}

func (w *written) Write(r audit.Record) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.all = append(w.all, r)
	return nil
}

// take returns the lines since the last time, each as its event, tool, decision and code.
func (w *written) take() (lines []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, r := range w.all {
		lines = append(lines, fmt.Sprint(r.Event, " ", r.Tool, " ", r.Decision, " ", r.Code))
	}
	w.all = nil
	return lines
}

// allowed approves every call.
var allowed = policy.ApproverFunc(func(context.Context, policy.Request) (policy.Decision, error) {
	return policy.Decision{Verdict: policy.Allow}, nil
})

// What a client asks of a server besides tools is a call of one of the host's own tools: it needs
// that tool, and is on record.
func TestWhatACallerMayNotReach(t *testing.T) {
	t.Parallel()
	everyWay(t, func(t *testing.T, w way) {
		lines := &written{}
		h := newHost(t, host.WithAudit(lines))
		s := serve(t, h, mcpserver.Options{Upstreams: mounted(t, h, mcptest.Everything)}, host.WithVisible(func(d tool.Definition) bool {
			return d.Name == "everything.test_sampling" && d.Safety.Effective() == tool.Safe
		}))
		ctx, cancel := context.WithTimeout(context.Background(), ceiling)
		defer cancel()
		c := w.connect(t, s, nil)
		if has := c.InitializeResult().Capabilities; has.Prompts != nil || has.Resources != nil || has.Completions != nil {
			t.Errorf("capabilities: %+v", has)
		}
		if res, err := c.ListResources(ctx, nil); err != nil || len(res.Resources) > 0 {
			t.Errorf("resources: %+v %v", res, err)
		}
		lines.take()
		for name, ask := range map[string]func() error{
			"mcp.read": func() error {
				_, err := c.ReadResource(ctx, &mcp.ReadResourceParams{URI: "file:///etc/shadow"})
				return err
			},
			"mcp.prompt": func() error {
				_, err := c.GetPrompt(ctx, &mcp.GetPromptParams{Name: "test_simple_prompt"})
				return err
			},
			"mcp.complete": func() error {
				_, err := c.Complete(ctx, &mcp.CompleteParams{
					Ref:      &mcp.CompleteReference{Type: "ref/prompt", Name: "test_simple_prompt"},
					Argument: mcp.CompleteParamsArgument{Name: "x"},
				})
				return err
			},
			"mcp.subscribe": func() error {
				if w.version >= "2026" {
					_, err := c.CallTool(ctx, &mcp.CallToolParams{Name: "everything.mcp.subscribe", Arguments: map[string]any{"uri": "a:b"}})
					return err
				}
				return c.Subscribe(ctx, &mcp.SubscribeParams{URI: "test://watched-resource"})
			},
		} {
			for range 3 {
				if err := ask(); err == nil {
					t.Errorf("%s is not refused", name)
				}
				want := []string{"end everything." + name + "  not_found"}
				assert.EqualSlicesf(t, lines.take(), want, "%s: on record", name)
			}
		}
	})
}

// What a server lists, or has named to the session, is read after its begin line; all else needs a yes.
func TestReadsAreJudged(t *testing.T) {
	t.Parallel()
	everyWay(t, func(t *testing.T, w way) {
		lines := &written{}
		h := newHost(t, host.WithAudit(lines))
		asked := 0
		s := serve(t, h, mcpserver.Options{Upstreams: mounted(t, h, mcptest.Everything)}, host.WithCaller(host.Caller{Name: "ann"}),
			host.WithApprover(policy.ApproverFunc(func(_ context.Context, r policy.Request) (policy.Decision, error) {
				var in struct{ URI string }
				require.NoError(t, json.Unmarshal(r.Call.Arguments, &in))
				if r.Definition.Safety != tool.Dangerous || r.Plugin != mcptest.Everything || r.Caller != "ann" {
					t.Errorf("asked about %+v", r)
				}
				asked++
				return policy.Decision{Verdict: map[bool]policy.Verdict{true: policy.Allow}[!strings.Contains(in.URI, "no")]}, nil
			})))
		ctx, cancel := context.WithTimeout(context.Background(), ceiling)
		defer cancel()
		c := w.connect(t, s, nil)
		all := names(t, c)
		if slices.ContainsFunc(all, func(name string) bool { return strings.Contains(name, "mcp") }) {
			t.Errorf("models are shown %q", all)
		}
		lines.take()
		for _, step := range []struct {
			uri    string
			fails  bool
			asked  int
			record string
		}{
			{"test://static-text", false, 0, "begin everything.mcp.read allowed |end everything.mcp.read allowed "},
			{"test://template/no/data", true, 1, "end everything.mcp.read denied approval_denied"},
			{"test://template/7/data", false, 1, "begin everything.mcp.read approved |end everything.mcp.read approved "},
			{"test://template/7/data", false, 0, "begin everything.mcp.read allowed |end everything.mcp.read allowed "},
		} {
			asked = 0
			_, err := c.ReadResource(ctx, &mcp.ReadResourceParams{URI: step.uri})
			got := strings.Join(lines.take(), "|")
			if (err != nil) != step.fails || asked != step.asked || got != step.record {
				t.Errorf("%s: %v, asked %d times, on record %s", step.uri, err, asked, got)
			}
		}
		// What none lists is the only server's, and needs a yes until an answer names it.
		for _, verdict := range []string{"approved", "allowed"} {
			want := strings.ReplaceAll("begin everything.mcp.read V |end everything.mcp.read V invalid_arguments", "V", verdict)
			if _, err := c.ReadResource(ctx, &mcp.ReadResourceParams{URI: "test://named"}); err == nil {
				t.Error("the server has what it has not")
			}
			assert.Equalf(t, strings.Join(lines.take(), "|"), want, "on record")
			require.Must(c.GetPrompt(ctx, &mcp.GetPromptParams{
				Name: "test_prompt_with_embedded_resource", Arguments: map[string]string{"resourceUri": "test://named"},
			}))(t)
			lines.take()
		}
	})
}

// A bound of a caller holds for reads as for calls.
func TestReadsAreCounted(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	twice := tool.RateLimit{Calls: 2, Period: tool.Duration(3600e9)}
	s := serve(t, h, mcpserver.Options{Upstreams: mounted(t, h, mcptest.Everything)},
		host.WithCaller(host.Caller{Name: "bob", Rate: &twice}))
	c := ways[1].connect(t, s, nil)
	read := 0
	for range 30 {
		if _, err := c.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "test://static-text"}); err == nil {
			read++
		} else if !strings.Contains(err.Error(), "too many calls of the caller bob") {
			t.Errorf("it says %v", err)
		}
	}
	if read != 2 {
		t.Errorf("%d of 30 reads went through", read)
	}
}

// What has taken the name of one of the host's own tools does not answer for the server.
func TestOwnToolsAreNotTaken(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	up := mounted(t, h, mcptest.Everything)
	require.NoError(t, h.Replace(echo("everything.mcp.read")))
	c := ways[1].connect(t, serve(t, h, mcpserver.Options{Upstreams: up}), nil)
	_, err := c.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "test://static-text"})
	wantCode(t, err, jsonrpc.CodeInvalidParams)
	if res, err := c.ListResources(t.Context(), nil); err != nil || len(res.Resources) > 0 {
		t.Errorf("resources: %+v %v", res, err)
	}
}
