package host

import (
	"context"
	"testing"

	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// What is put off is not left out: a schema that is refused where a tool is
// registered is refused where it is called, and the tool does not run.
func TestPromiseIsCheckedWhenItIsCalled(t *testing.T) {
	t.Parallel()
	h, err := New()
	if err != nil {
		t.Fatal(err)
	}
	ran := false
	draft, err := h.draft("plugin", tool.Tool{
		Definition: tool.Definition{Name: "late", Description: "Has a bad schema.", Safety: tool.Safe, InputSchema: tool.Schema(`{"type":"object","required":["missing"]}`)},
		Handler:    func(context.Context, tool.Call) (tool.Result, error) { ran = true; return tool.Result{}, nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := h.registry.sync("plugin", []*entry{h.promise(draft)}); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := h.Execute(t.Context(), tool.Call{Name: "late"}); tool.CodeOf(err) != tool.CodeInvalidDefinition || ran {
			t.Errorf("got %v, ran %v", err, ran)
		}
	}
	if err := h.ValidateCall("late", nil); tool.CodeOf(err) != tool.CodeInvalidDefinition {
		t.Errorf("ValidateCall: %v", err)
	}
	if _, err := h.draft("plugin", tool.Tool{Definition: tool.Definition{Name: "late"}}); tool.CodeOf(err) != tool.CodeInvalidDefinition {
		t.Errorf("without a description: %v", err)
	}
}
