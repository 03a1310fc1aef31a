package llmschema

import "github.com/toolhost/toolhost/pluginsdk/tool"

// anthropicTool is an element of "tools" in a request to Anthropic's Messages
// API (https://platform.claude.com/docs/en/api/messages, "tools"). Its schemas
// are JSON Schema 2020-12 with a root of type object, as in a tool's
// definition.
type anthropicTool struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	InputSchema object `json:"input_schema"`
}

func newAnthropicTool(name string, d tool.Definition, input object) anthropicTool {
	return anthropicTool{name, d.Description, input}
}
