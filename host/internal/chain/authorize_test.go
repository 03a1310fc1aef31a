package chain_test

import (
	"context"
	"testing"

	"github.com/toolhost/toolhost/host/internal/chain"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// A caller of whom nothing is said holds the empty capability, and no other.
func TestAuthorizeWithoutHolds(t *testing.T) {
	t.Parallel()
	for needed, want := range map[tool.Capability]tool.Code{"": "", tool.FSRead: tool.CodePermissionDenied} {
		h := chain.Wrap(func(context.Context, tool.Call) (tool.Result, error) { return tool.Result{}, nil }, chain.Authorize(needed))
		if _, err := h(t.Context(), tool.Call{Name: "x"}); tool.CodeOf(err) != want {
			t.Errorf("%q: %v", needed, err)
		}
	}
}
