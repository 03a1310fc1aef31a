package fault_test

import (
	"errors"
	"testing"

	"github.com/toolhost/toolhost/internal/fault"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// What a plugin of another host answers has the same code and sentinel here; what only a host finds out about its
// own tools has not.
func TestCodesBetweenHosts(t *testing.T) {
	t.Parallel()
	for code, want := range map[tool.Code]tool.Code{
		tool.CodeAlreadyExists: tool.CodeAlreadyExists, tool.CodeApprovalDenied: tool.CodeApprovalDenied,
		tool.CodeCrashed: tool.CodeCrashed, tool.CodeInvalidDefinition: tool.CodeToolFailed, "of_tomorrow": tool.CodeToolFailed,
	} {
		if got := fault.Received(fault.Sent(&tool.Error{Code: code, Message: "broken"})); got.Code != want {
			t.Errorf("%s arrives as %s, want %s", code, got.Code, want)
		}
	}
	if err := fault.Received(fault.Sent(tool.Errorf(tool.CodeAlreadyExists, "taken"))); !errors.Is(err, tool.ErrAlreadyExists) {
		t.Errorf("%v is not ErrAlreadyExists", err)
	}
}
