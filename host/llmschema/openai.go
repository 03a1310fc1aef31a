package llmschema

import "github.com/toolhost/toolhost/pluginsdk/tool"

// openAITool is an element of "tools" in a request to OpenAI's Chat Completions
// API (https://platform.openai.com/docs/api-reference/chat/create, "tools").
// Its names have at most 64 letters, digits, "_" and "-".
type openAITool struct {
	Type     string         `json:"type"`
	Function openAIFunction `json:"function"`
}

type openAIFunction struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	Parameters  object `json:"parameters"`
}

// newOpenAITool drops "$schema", which is not in the subset that the API
// documents, and adds an empty "properties", without which the API rejects a
// function ("object schema missing properties"). Neither changes which
// arguments are valid.
func newOpenAITool(name string, d tool.Definition, input object) openAITool {
	return openAITool{"function", openAIFunction{
		Name: name, Description: d.Description,
		Parameters: input.without("$schema").withDefault("properties", "{}"),
	}}
}
