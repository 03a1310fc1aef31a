package llmschema

import "github.com/toolhost/toolhost/pluginsdk/tool"

// openAITool is an element of "tools" in a request to OpenAI's Chat Completions
// (https://platform.openai.com/docs/api-reference/chat/create, "tools"). Its
// names have letters, digits, "_" and "-", at most 64.
type openAITool struct {
	Type     string         `json:"type"`
	Function openAIFunction `json:"function"`
}

type openAIFunction struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	Parameters  object `json:"parameters"`
}

// newOpenAITool drops "$schema", which is no keyword of the subset that the API
// describes, and adds the empty "properties" without which it refuses a function
// ("object schema missing properties"). Both leave the arguments as they were.
func newOpenAITool(name string, d tool.Definition, input object) openAITool {
	return openAITool{"function", openAIFunction{
		Name: name, Description: d.Description,
		Parameters: input.without("$schema").withDefault("properties", "{}"),
	}}
}
