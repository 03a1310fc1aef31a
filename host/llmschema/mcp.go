package llmschema

import (
	"encoding/json"

	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// mcpTool is a Tool of the Model Context Protocol, as in the answer to
// tools/list (https://modelcontextprotocol.io/specification/2025-11-25/server/tools;
// 2025-06-18 has the same members). Its names may have dots, so that a tool keeps
// its own.
type mcpTool struct {
	Name         string         `json:"name"`
	Title        string         `json:"title,omitempty"`
	Description  string         `json:"description"`
	InputSchema  object         `json:"inputSchema"`
	OutputSchema tool.Schema    `json:"outputSchema,omitempty"`
	Annotations  mcpAnnotations `json:"annotations"`
}

// mcpAnnotations are hints, all of them said: two have true as their default.
type mcpAnnotations struct {
	ReadOnly    bool `json:"readOnlyHint"`
	Destructive bool `json:"destructiveHint"`
	Idempotent  bool `json:"idempotentHint"`
	OpenWorld   bool `json:"openWorldHint"`
}

// newMCPTool leaves out an output schema whose root is not of type object: the
// protocol allows no other.
func newMCPTool(d tool.Definition, input object) mcpTool {
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
	var root object
	return json.Unmarshal(schema, &root) == nil && string(root.get("type")) == `"object"`
}

func mcpHints(d tool.Definition) mcpAnnotations {
	level := d.Safety.Effective()
	return mcpAnnotations{
		ReadOnly: level == tool.Safe,
		// What a cautious tool changes can be changed back; unless it runs what
		// the caller brings, which can do anything.
		Destructive: level == tool.Dangerous || level == tool.Cautious && d.Permission == tool.Exec,
		Idempotent:  d.Idempotent,
		// Only of what works on the workspace is it known that it goes no
		// further; true is the default of the protocol.
		OpenWorld: d.Permission != tool.FSRead && d.Permission != tool.FSWrite,
	}
}
