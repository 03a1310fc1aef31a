package host

import (
	"context"
	"testing"

	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Reads go on while a writer holds the registry: here for ever.
func TestReadsDoNotWaitForWriters(t *testing.T) {
	t.Parallel()
	h, err := New()
	require.NoError(t, err)
	require.NoError(t, h.Register(tool.Tool{
		Definition: tool.Definition{Name: "x", Description: "Answers.", Safety: tool.Safe},
		Handler:    func(context.Context, tool.Call) (tool.Result, error) { return tool.Text("x"), nil },
	}))
	h.registry.mu.Lock()
	defer h.registry.mu.Unlock()
	if out := h.Call(t.Context(), tool.Call{Name: "x"}); !out.Success {
		t.Errorf("outcome %+v", out)
	}
	if _, ok := h.Get("x"); !ok || len(h.Names()) != 1 || len(h.Tools(Filter{})) != 1 || h.ValidateCall("x", nil) != nil {
		t.Error("the tool is not there")
	}
}
