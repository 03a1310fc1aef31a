package host

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/toolhost/toolhost/host/internal/roster"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// What is put off is not left out: a schema that is refused where a tool is
// registered is refused when it is called, and the tool does not run.
func TestLazyEntryIsCheckedWhenItIsCalled(t *testing.T) {
	t.Parallel()
	h := require.Must(New())(t)
	ran := false
	from := &origin{
		compiler: &h.compiler, owner: "plugin", settings: h.compiler.defaults,
		run: func(context.Context, tool.Call) (tool.Result, error) { ran = true; return tool.Result{}, nil },
	}
	late := require.Must(h.compiler.check(from, &tool.Definition{
		Name: "late", Description: "Has a bad schema.", Safety: tool.Safe, InputSchema: tool.Schema(`{"type":"object","required":["missing"]}`),
	}))(t)
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

// Of many tools that were called, those that were compiled first are compiled again by their next call, and
// what was counted of them goes on.
func TestCompiledToolsHaveBounds(t *testing.T) {
	t.Parallel()
	h := require.Must(New())(t)
	entryOf := func(i int) *entry {
		e := require.Must(h.compiler.entryOf("", tool.Tool{
			Definition: tool.Definition{
				Name: fmt.Sprintf("t%d", i), Description: "-", Safety: tool.Safe,
				RateLimit: &tool.RateLimit{Calls: 1, Period: tool.Duration(time.Hour)},
			},
			Handler: func(_ context.Context, call tool.Call) (tool.Result, error) { return tool.Text(call.Name), nil },
		}))(t)
		return e
	}
	require.NoError(t, h.registry.add(entryOf(0)))
	require.Must(h.Execute(t.Context(), tool.Call{Name: "t0"}))(t)
	for i := 1; i <= maxCompiled; i++ {
		require.NoError(t, h.registry.add(entryOf(i)))
		if e := h.registry.find(fmt.Sprintf("t%d", i)); e.form.Load() != nil {
			t.Fatalf("tool %d is compiled before it is called", i)
		}
		require.NoError(t, h.ValidateCall(fmt.Sprintf("t%d", i), nil))
	}
	if e := h.registry.find("t0"); e.form.Load() != nil {
		t.Error("the tool that was compiled first still is")
	}
	if e := h.registry.find("t1"); e.form.Load() == nil {
		t.Error("more are dropped than have to be")
	}
	if _, err := h.Execute(t.Context(), tool.Call{Name: "t0"}); tool.CodeOf(err) != tool.CodeRateLimited {
		t.Errorf("its rate has begun again: %v", err)
	}
}
