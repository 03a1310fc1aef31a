package mcpserver_test

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/mcpclient"
	"github.com/toolhost/toolhost/host/mcpserver"
	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/mcptest"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// mounted mounts the server of package mcptest under names, and returns what clients are
// offered of it.
func mounted(t testing.TB, h *host.Host, names ...string) func() []mcpserver.Upstream {
	t.Helper()
	return mountedAs(t, h, "1", names...)
}

// mountedAs is mounted, of the server that this binary is with a value of mountedVariable.
func mountedAs(t testing.TB, h *host.Host, value string, names ...string) func() []mcpserver.Upstream {
	t.Helper()
	self := require.Must(os.Executable())(t)
	var all []mcpserver.Upstream
	for _, name := range names {
		u := require.Must(mcpclient.New(mcpclient.Config{
			Name: name, Command: self, Env: []string{mountedVariable + "=" + value},
			Safety: func(string) tool.Safety { return tool.Safe }, Questions: mcpclient.Questions{Sampling: true},
		}))(t)
		u.StartWith(func(ctx context.Context) error { return h.StartPlugin(ctx, name) })
		require.Must(h.Mount(context.Background(), plugin.Server{Name: name, Connector: u, Identity: name}))(t)
		all = append(all, u)
	}
	return func() []mcpserver.Upstream { return all }
}

func TestPassThrough(t *testing.T) {
	t.Parallel()
	everyWay(t, func(t *testing.T, w way) {
		h := newHost(t)
		s := serve(t, h, mcpserver.Options{Upstreams: mounted(t, h, mcptest.Everything), PageSize: 2},
			host.WithApprover(allowed))
		ctx, cancel := context.WithTimeout(context.Background(), ceiling)
		defer cancel()
		updated := make(chan string, 10)
		c := w.connect(t, s, &mcp.ClientOptions{
			ResourceUpdatedHandler: func(_ context.Context, r *mcp.ResourceUpdatedNotificationRequest) { updated <- r.Params.URI },
			CreateMessageHandler: func(context.Context, *mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) {
				return &mcp.CreateMessageResult{Content: &mcp.TextContent{Text: "sampled"}, Model: "m", Role: "assistant"}, nil
			},
			ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
				return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"context": "here"}}, nil
			},
		})
		has := c.InitializeResult().Capabilities
		if has.Prompts == nil || has.Resources == nil || !has.Resources.Subscribe || has.Completions == nil {
			t.Errorf("capabilities: %+v", has)
		}
		var prompts, resources, templates []string
		for p, err := range c.Prompts(ctx, nil) {
			require.NoError(t, err)
			prompts = append(prompts, p.Name)
		}
		for r, err := range c.Resources(ctx, nil) {
			require.NoError(t, err)
			resources = append(resources, r.URI)
		}
		for r, err := range c.ResourceTemplates(ctx, nil) {
			require.NoError(t, err)
			templates = append(templates, r.URITemplate)
		}
		if len(prompts) < 5 || !slices.Contains(prompts, "test_simple_prompt") || len(resources) < 3 || len(templates) != 1 {
			t.Errorf("lists: %v %v %v", prompts, resources, templates)
		}
		p, err := c.GetPrompt(ctx, &mcp.GetPromptParams{
			Name: "test_prompt_with_arguments", Arguments: map[string]string{"arg1": "one", "arg2": "two"},
		})
		if err != nil || !strings.Contains(fmt.Sprint(p.Messages[0].Content.(*mcp.TextContent).Text), "one") {
			t.Errorf("prompt: %+v %v", p, err)
		}
		if p, err = c.GetPrompt(ctx, &mcp.GetPromptParams{Name: "test_input_required_result_prompt"}); err != nil ||
			!strings.Contains(p.Messages[0].Content.(*mcp.TextContent).Text, "here") {
			t.Errorf("a prompt that asks: %+v %v", p, err)
		}
		_, err = c.GetPrompt(ctx, &mcp.GetPromptParams{Name: "none"})
		wantCode(t, err, jsonrpc.CodeInvalidParams)
		for _, uri := range []string{resources[0], "test://template/7/data"} {
			if r, err := c.ReadResource(ctx, &mcp.ReadResourceParams{URI: uri}); err != nil || len(r.Contents) != 1 || r.Contents[0].URI != uri {
				t.Errorf("resource %s: %+v %v", uri, r, err)
			}
		}
		_, err = c.ReadResource(ctx, &mcp.ReadResourceParams{URI: "none://at/all"})
		wantCode(t, err, jsonrpc.CodeInvalidParams)
		done, err := c.Complete(ctx, &mcp.CompleteParams{
			Ref:      &mcp.CompleteReference{Type: "ref/prompt", Name: "test_prompt_with_arguments"},
			Argument: mcp.CompleteParamsArgument{Name: "arg1", Value: "p"},
		})
		if err != nil || done == nil {
			t.Errorf("completion: %+v %v", done, err)
		}
		assert.Containsf(t, text(call(t, c, "everything_test_sampling", `{"prompt":"x"}`)), "sampled", "sampling")
		require.NoError(t, c.Subscribe(ctx, &mcp.SubscribeParams{URI: "test://watched-resource"}))
		// Clients of the stateless revision subscribe a moment later.
		for i := 0; len(updated) == 0; i++ {
			if i == 1000 {
				t.Fatal("the client is not told of the resource")
			}
			call(t, c, "everything_test_watched_resource_change", `{}`)
			<-time.After(20 * time.Millisecond)
		}
	})
}

// A caller that sees none of a server's tools sees nothing of it, and a server that is down
// costs only its own.
func TestPassThroughIsVisible(t *testing.T) {
	t.Parallel()
	everyWay(t, func(t *testing.T, w way) {
		h := newHost(t)
		up := mounted(t, h, mcptest.Everything)
		broken, err := mcpclient.New(mcpclient.Config{Name: "broken", Command: "/does/not/exist"})
		require.NoError(t, err)
		s := serve(t, h, mcpserver.Options{
			Upstreams: func() []mcpserver.Upstream { return append(up(), broken) },
			Session: func(_ context.Context, c mcpserver.Client) (*host.Session, error) {
				return h.Session(host.WithVisible(func(d tool.Definition) bool {
					return c.Name == "all" || d.Name == "everything.nothing"
				})), nil
			},
		})
		ctx, cancel := context.WithTimeout(context.Background(), ceiling)
		defer cancel()
		if res, err := w.connect(t, s, nil, "all").ListPrompts(ctx, nil); err != nil || len(res.Prompts) < 5 {
			t.Errorf("all: %+v %v", res, err)
		}
		none := w.connect(t, s, nil, "none")
		if has := none.InitializeResult().Capabilities; has.Prompts != nil || has.Resources != nil {
			t.Errorf("capabilities: %+v", has)
		}
		if res, err := none.ListPrompts(ctx, nil); err != nil || len(res.Prompts) > 0 {
			t.Errorf("none: %+v %v", res, err)
		}
		_, err = none.GetPrompt(ctx, &mcp.GetPromptParams{Name: "test_simple_prompt"})
		wantCode(t, err, jsonrpc.CodeInvalidParams)
		_, err = none.ReadResource(ctx, &mcp.ReadResourceParams{URI: "test://watched-resource"})
		wantCode(t, err, jsonrpc.CodeInvalidParams)
	})
}
