package host

import (
	"context"
	"testing"

	"github.com/toolhost/toolhost/host/internal/roster"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// What is put off is not left out: a schema that is refused where a tool is
// registered is refused when it is called, and the tool does not run.
func TestLazyEntryIsCheckedWhenItIsCalled(t *testing.T) {
	t.Parallel()
	h, err := New()
	if err != nil {
		t.Fatal(err)
	}
	ran := false
	from := &origin{
		compiler: &h.compiler, owner: "plugin", settings: h.compiler.defaults,
		run: func(context.Context, tool.Call) (tool.Result, error) { ran = true; return tool.Result{}, nil },
	}
	late, err := h.compiler.check(from, &tool.Definition{
		Name: "late", Description: "Has a bad schema.", Safety: tool.Safe, InputSchema: tool.Schema(`{"type":"object","required":["missing"]}`),
	})
	if err != nil {
		t.Fatal(err)
	}
	put := h.registry.Put([]roster.Set{{Owner: "plugin", Entries: []roster.Entry{late}}})
	if put[0].Err != nil {
		t.Fatal(put[0].Err)
	}
	for range 2 {
		if _, err := h.Execute(t.Context(), tool.Call{Name: "late"}); tool.CodeOf(err) != tool.CodeInvalidDefinition || ran {
			t.Errorf("got %v, ran %v", err, ran)
		}
	}
	if err := h.ValidateCall("late", nil); tool.CodeOf(err) != tool.CodeInvalidDefinition {
		t.Errorf("ValidateCall: %v", err)
	}
	if _, err := h.compiler.check(from, &tool.Definition{Name: "late"}); tool.CodeOf(err) != tool.CodeInvalidDefinition {
		t.Errorf("without a description: %v", err)
	}
}
