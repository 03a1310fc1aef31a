package host_test

import (
	"context"
	"testing"
	"time"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/test/plugintest"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

func TestMain(m *testing.M) { plugintest.Main(m, examplePlugins) }

// ceiling bounds what should take milliseconds, on a machine that is busy.
const ceiling = 30 * time.Second

func newHost(t *testing.T, opts ...host.Option) *host.Host {
	t.Helper()
	h, err := host.New(append([]host.Option{host.WithRoot(t.TempDir()), host.WithDefaults(func(all *plugin.Settings) {
		all.StartTimeout = ceiling
	})}, opts...)...)
	require.NoError(t, err)
	t.Cleanup(func() {
		if err := h.Close(context.Background()); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return h
}

// echo answers with its name, a colon and its arguments.
func echo(name string, change ...func(*tool.Definition)) tool.Tool {
	t := tool.Tool{
		Definition: tool.Definition{
			Name: name, Description: "Answers with its arguments.", Safety: tool.Safe,
			InputSchema: tool.Schema(`{"type":"object","properties":{"text":{"type":"string"}},"additionalProperties":false}`),
		},
		Handler: func(_ context.Context, call tool.Call) (tool.Result, error) {
			return tool.Text(name + ":" + string(call.Arguments)), nil
		},
	}
	for _, f := range change {
		f(&t.Definition)
	}
	return t
}

// counted is a tool with a count of its runs.
func counted(t tool.Tool, runs *int) tool.Tool {
	run := t.Handler
	t.Handler = func(ctx context.Context, call tool.Call) (tool.Result, error) {
		*runs++
		return run(ctx, call)
	}
	return t
}
