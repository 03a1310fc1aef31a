package host_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// A result that came another way is checked and cut as one of the tool's own calls is.
func TestReceive(t *testing.T) {
	t.Parallel()
	h := require.Must(host.New())(t)
	t.Cleanup(func() { _ = h.Close(context.Background()) })
	require.NoError(t, h.Register(tool.Tool{
		Definition: tool.Definition{
			Name: "count", Description: "Counts.", Safety: tool.Cautious,
			OutputSchema: tool.Schema(`{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`),
		},
		Handler: func(context.Context, tool.Call) (tool.Result, error) { return tool.Result{}, errors.New("it ran") },
	}))
	s := h.Session(host.WithResultLimit(5))
	call := tool.Call{ID: "id", Name: "count"}
	good := tool.Text("0123456789")
	good.Structured = []byte(`{"n":1}`)
	out, res, err := s.Receive(t.Context(), call, good, nil)
	if err != nil || !out.Success || out.ID != "id" || out.Metadata.SafetyLevel != "cautious" || !strings.HasPrefix(res.Text(), "01234") || strings.Contains(res.Text(), "56789") {
		t.Errorf("%+v %q %v", out, res.Text(), err)
	}
	if out, _, err := s.Receive(t.Context(), call, tool.Text("x"), nil); tool.CodeOf(err) != tool.CodeInvalidResult || out.Success {
		t.Errorf("without what the output schema promises: %+v %v", out, err)
	}
	call.Name = "gone"
	if _, res, err := s.Receive(t.Context(), call, tool.Text("x"), nil); err != nil || res.Text() != "x" {
		t.Errorf("of a tool that is gone: %v %v", res.Text(), err)
	}
	if out, _, err := s.Receive(t.Context(), call, tool.Result{}, tool.Errorf(tool.CodeCrashed, "it crashed")); tool.CodeOf(err) != tool.CodeCrashed || out.Success {
		t.Errorf("%+v %v", out, err)
	}
}
