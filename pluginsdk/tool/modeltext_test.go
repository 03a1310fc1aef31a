package tool

import (
	"context"
	"fmt"
	"testing"

	"github.com/toolhost/toolhost/internal/test/assert"
)

func TestModelText(t *testing.T) {
	t.Parallel()
	denied := &Error{
		Code: CodePermissionDenied, Tool: "fs.write", Message: "Permission denied for tool: fs.write",
		Hint: "say that you need it", OperatorHint: "--grant fs:write",
	}
	for _, c := range []struct {
		err                error
		name, model, human string
	}{
		{nil, "a", "", ""},
		{denied, "fs_write", "Permission denied for tool: fs_write (say that you need it)", "Permission denied for tool: fs.write (--grant fs:write)"},
		{denied, "fs.write", "Permission denied for tool: fs.write (say that you need it)", "Permission denied for tool: fs.write (--grant fs:write)"},
		{
			fmt.Errorf("around %w again", denied), "fs_write",
			"around Permission denied for tool: fs_write again (say that you need it)",
			"around Permission denied for tool: fs.write (--grant fs:write) again",
		},
		{&Error{Tool: "t", Message: "no", OperatorHint: "see toolhost tools show t"}, "t", "no", "no (see toolhost tools show t)"},
		{&Error{Tool: "t", Message: "no", Hint: "later"}, "t", "no (later)", "no (later)"},
		{context.Canceled, "t", "context canceled", "context canceled"},
	} {
		assert.Equalf(t, ModelText(c.err, c.name), c.model, "for a model")
		if c.err != nil && c.err.Error() != c.human {
			t.Errorf("for a person: %q, want %q", c.err.Error(), c.human)
		}
	}
}

func TestCalledBy(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, want string }{
		{"fs.read", "fs_read"},
		{"tool fs.read: no. Use fs.read.", "tool fs_read: no. Use fs_read."},
		{"fs.read-only, fs.readme, my.fs.read, fs.read.all and (fs.read)", "fs.read-only, fs.readme, my.fs.read, fs.read.all and (fs_read)"},
		{"nothing", "nothing"},
	} {
		assert.Equal(t, calledBy(c.text, "fs.read", "fs_read"), c.want)
	}
}
