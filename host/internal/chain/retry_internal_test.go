package chain

import (
	"fmt"
	"testing"

	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/wire"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Of a call that may have run, only what the host saw itself is repeated: not what the plugin answered.
func TestRepeatable(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		code               tool.Code
		unsent, idempotent bool
		cause              error
		want               bool
	}{
		{tool.CodeCrashed, false, true, nil, true},
		{tool.CodeDeadlineExceeded, false, true, nil, true},
		{tool.CodeDeadlineExceeded, false, true, wire.ErrClaimed, false},
		{tool.CodeUnavailable, false, true, fmt.Errorf("x: %w", wire.ErrClaimed), false},
		{tool.CodeUnavailable, false, false, nil, false},
		{tool.CodeUnavailable, true, false, nil, true},
		{tool.CodePermissionDenied, true, true, nil, false},
	} {
		assert.Equalf(t, repeatable(&tool.Error{Code: c.code, Unsent: c.unsent, Err: c.cause}, c.idempotent), c.want, "%+v", c)
	}
}
