package exit

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

func TestCodeStatus(t *testing.T) {
	t.Parallel()
	for code, want := range map[tool.Code]int{
		"":                         0,
		tool.CodeToolFailed:        1,
		tool.CodeNotFound:          3,
		tool.CodeInvalidArguments:  4,
		tool.CodePermissionDenied:  5,
		tool.CodeApprovalDenied:    5,
		tool.CodeApprovalRequired:  5,
		tool.CodeRateLimited:       5,
		tool.CodeResourceExhausted: 5,
		tool.CodeUnavailable:       6,
		tool.CodeCrashed:           6,
		tool.CodeInvalidResult:     6,
		tool.CodeInternal:          6,
		tool.CodeAlreadyExists:     6,
		tool.CodeInvalidDefinition: 6,
		"of_a_newer_plugin":        6,
		tool.CodeDeadlineExceeded:  7,
		tool.CodeCanceled:          7,
	} {
		assert.Equalf(t, ofCode(code), want, "the status of %q", code)
	}
}

func TestExitStatus(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err  error
		want int
	}{
		{nil, 0},
		{errors.New("plain"), 6},
		{context.Canceled, 7},
		{fmt.Errorf("wrapped: %w", &tool.Error{Code: tool.CodeRateLimited}), 5},
		{Usage("wrong", ""), 2},
		{fmt.Errorf("wrapped: %w", With(Failed, &tool.Error{Code: tool.CodeCrashed})), 1},
		{errors.Join(Usage("wrong", ""), errors.New("and more")), 2},
	} {
		assert.Equalf(t, Status(c.err), c.want, "the status of %v", c.err)
	}
}
