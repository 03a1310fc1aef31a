package pluginsdk

import (
	"testing"

	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

func TestCallFrom(t *testing.T) {
	t.Parallel()
	if got := tool.CallFrom(t.Context()); got.Name != "" || got.Arguments != nil {
		t.Errorf("outside a call: %+v", got)
	}
	call := tool.Call{ID: "1", Name: "x", Arguments: []byte("{}")}
	ctx := withCall(t.Context(), call)
	if got := tool.CallFrom(ctx); got.ID != "1" || got.Name != "x" {
		t.Errorf("%+v", got)
	}
	assert.Equalf(t, withCall(ctx, call), ctx, "withCall wrapped a context that has the call already")
	call.Arguments = []byte("{}") // an approver may change them
	if again := withCall(ctx, call); again == ctx {
		t.Error("other arguments are not in the context")
	}
}
