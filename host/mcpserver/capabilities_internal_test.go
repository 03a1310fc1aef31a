package mcpserver

import (
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolhost/toolhost/internal/test/assert"
)

// What a client can do is decoded again only if it says something else.
func TestNamedCapabilities(t *testing.T) {
	t.Parallel()
	c := &clientSession{}
	can := func(value any) *mcp.ClientCapabilities {
		return (&request{client: c, meta: map[string]any{mcp.MetaKeyClientCapabilities: value}}).namedCapabilities()
	}
	forms := func() any { return map[string]any{"elicitation": map[string]any{"form": map[string]any{}}} }
	first := can(forms())
	if first == nil || first.Elicitation == nil {
		t.Fatalf("it asks for forms, and has %+v", first)
	}
	assert.Equalf(t, can(forms()), first, "the same is decoded again")
	if now := can(map[string]any{}); now == nil || now.Elicitation != nil {
		t.Errorf("it can do nothing any more, and has %+v", now)
	}
}
