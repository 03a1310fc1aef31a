package llmschema

import "github.com/toolhost/toolhost/pluginsdk/tool"

// geminiTool is an element of "tools" in a request to Gemini's generateContent
// (https://ai.google.dev/api/caching#Tool).
type geminiTool struct {
	FunctionDeclarations []any `json:"functionDeclarations"`
}

// geminiFunction is a FunctionDeclaration
// (https://ai.google.dev/api/caching#FunctionDeclaration). Its "parameters" is
// the older field, in a dialect of OpenAPI that would need translating; a request
// has that or "parametersJsonSchema", which takes JSON Schema.
type geminiFunction struct {
	Name                 string `json:"name"`
	Description          string `json:"description"`
	ParametersJSONSchema object `json:"parametersJsonSchema"`
}

// newGeminiFunction drops "$schema", which is none of the keywords that the API
// names as understood. That leaves the arguments as they were.
func newGeminiFunction(name string, d tool.Definition, input object) geminiFunction {
	return geminiFunction{name, d.Description, input.without("$schema")}
}
