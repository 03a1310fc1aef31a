package llmschema

import "github.com/toolhost/toolhost/internal/jsontree"

// geminiTool is an element of "tools" in a request to Gemini's generateContent
// (https://ai.google.dev/api/caching#Tool).
type geminiTool struct {
	FunctionDeclarations []any `json:"functionDeclarations"`
}

// geminiFunction is a FunctionDeclaration
// (https://ai.google.dev/api/caching#FunctionDeclaration). A request has either
// "parametersJsonSchema", which takes JSON Schema, or the older "parameters",
// which takes a dialect of OpenAPI and would need a translation.
type geminiFunction struct {
	Name                 string           `json:"name"`
	Description          string           `json:"description"`
	ParametersJSONSchema *jsontree.Object `json:"parametersJsonSchema"`
}
