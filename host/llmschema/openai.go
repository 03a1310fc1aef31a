package llmschema

import "github.com/toolhost/toolhost/internal/jsontree"

// openAITool is an element of "tools" in a request to OpenAI's Chat Completions
// API (https://platform.openai.com/docs/api-reference/chat/create, "tools").
// Its names have at most 64 letters, digits, "_" and "-".
type openAITool struct {
	Type     string         `json:"type"`
	Function openAIFunction `json:"function"`
}

type openAIFunction struct {
	Name        string           `json:"name"`
	Description string           `json:"description"`
	Parameters  *jsontree.Object `json:"parameters"`
	Strict      bool             `json:"strict,omitempty"`
}

// openAIResponsesTool is an element of "tools" in a request to OpenAI's Responses API
// (https://platform.openai.com/docs/api-reference/responses/create, "tools"), which has no
// object for the function. There, "strict" is true unless a request says otherwise, and
// makes every argument required
// (https://platform.openai.com/docs/guides/function-calling#strict-mode).
type openAIResponsesTool struct {
	Type string `json:"type"`
	openAIFunction
	Strict bool `json:"strict"`
}
