package mcpjson

import (
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

func TestSafety(t *testing.T) {
	t.Parallel()
	yes, no := true, false
	for _, c := range []struct {
		a    *mcp.ToolAnnotations
		want tool.Safety
	}{
		{nil, tool.Dangerous},
		{&mcp.ToolAnnotations{}, tool.Dangerous},
		{&mcp.ToolAnnotations{ReadOnlyHint: true}, tool.Safe},
		{&mcp.ToolAnnotations{ReadOnlyHint: true, OpenWorldHint: &no}, tool.Safe},
		{&mcp.ToolAnnotations{ReadOnlyHint: true, OpenWorldHint: &yes}, tool.Cautious},
		{&mcp.ToolAnnotations{DestructiveHint: &no}, tool.Cautious},
		{&mcp.ToolAnnotations{DestructiveHint: &yes, IdempotentHint: true}, tool.Dangerous},
	} {
		assert.Equalf(t, Safety(c.a), c.want, "%+v gives", c.a)
	}
}
