package llmschema

// anthropicTool is an element of "tools" in a request to Anthropic's Messages
// API (https://platform.claude.com/docs/en/api/messages, "tools").
type anthropicTool struct {
	Name        string  `json:"name"`
	Description string  `json:"description"`
	InputSchema *object `json:"input_schema"`
}

func newAnthropicTool(name, description string, input *object) anthropicTool {
	return anthropicTool{name, description, input}
}
