package llmschema

import (
	"github.com/toolhost/toolhost/internal/jsontree"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// mcpTool is a Tool of the Model Context Protocol, as in the response to
// tools/list
// (https://modelcontextprotocol.io/specification/2025-11-25/server/tools;
// 2025-06-18 has the same members). MCP names may contain dots, so a tool keeps
// its own name.
type mcpTool struct {
	Name         string           `json:"name"`
	Title        string           `json:"title,omitempty"`
	Description  string           `json:"description"`
	InputSchema  *jsontree.Object `json:"inputSchema"`
	OutputSchema tool.Schema      `json:"outputSchema,omitempty"`
	Annotations  mcpAnnotations   `json:"annotations"`
}

// mcpAnnotations are hints. All of them are always sent, as two default to
// true.
type mcpAnnotations struct {
	ReadOnly    bool `json:"readOnlyHint"`
	Destructive bool `json:"destructiveHint"`
	Idempotent  bool `json:"idempotentHint"`
	OpenWorld   bool `json:"openWorldHint"`
}

// newMCPTool leaves out an output schema whose root is not of type object,
// because the protocol does not allow it.
func newMCPTool(d tool.Definition, input *jsontree.Object) mcpTool {
	out := mcpTool{
		Name: d.Name, Title: d.Title, Description: d.Description, InputSchema: input,
		Annotations: mcpHints(d),
	}
	if isObject(d.OutputSchema) {
		out.OutputSchema = d.OutputSchema
	}
	return out
}

func isObject(schema tool.Schema) bool {
	root, err := jsontree.ParseObject(schema)
	return err == nil && root.Text("type") == "object"
}

func mcpHints(d tool.Definition) mcpAnnotations {
	level := d.Safety.Effective()
	return mcpAnnotations{
		ReadOnly: level == tool.Safe,
		// The changes of a cautious tool can be undone, except if the tool runs
		// what the caller sends, which can do anything.
		Destructive: level == tool.Dangerous || level == tool.Cautious && d.Permission == tool.Exec,
		Idempotent:  d.Idempotent,
		// Only tools that work on the workspace are known to be confined to it;
		// the protocol's default is true.
		OpenWorld: d.Permission != tool.FSRead && d.Permission != tool.FSWrite,
	}
}
