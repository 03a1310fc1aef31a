package mcpjson

import (
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

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
		if got := Safety(c.a); got != c.want {
			t.Errorf("%+v gives %s", c.a, got)
		}
	}
}
