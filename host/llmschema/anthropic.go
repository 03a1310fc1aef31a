package llmschema

import "github.com/toolhost/toolhost/internal/jsontree"

// anthropicTool is an element of "tools" in a request to Anthropic's Messages
// API (https://platform.claude.com/docs/en/api/messages, "tools").
type anthropicTool struct {
	Name        string           `json:"name"`
	Description string           `json:"description"`
	InputSchema *jsontree.Object `json:"input_schema"`
}
