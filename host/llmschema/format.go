package llmschema

import (
	"slices"
	"strings"

	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Format is the format of an export.
type Format string

// The formats. The file named after a format documents it.
const (
	OpenAI          Format = "openai"           // OpenAI's Chat Completions API and the many compatible servers
	OpenAIResponses Format = "openai-responses" // OpenAI's Responses API
	Anthropic       Format = "anthropic"        // Anthropic's Messages API
	Gemini          Format = "gemini"           // Google's generateContent API
	MCP             Format = "mcp"              // Model Context Protocol, tools/list
)

// Formats returns all formats.
func Formats() []Format { return []Format{OpenAI, OpenAIResponses, Anthropic, Gemini, MCP} }

// ParseFormat parses the name of a format.
//
// # Errors
//
// [tool.CodeInvalidArguments] for any other text; its hint lists the formats.
func ParseFormat(s string) (Format, error) {
	if f := Format(s); slices.Contains(Formats(), f) {
		return f, nil
	}
	var names []string
	for _, f := range Formats() {
		names = append(names, string(f))
	}
	last := len(names) - 1
	return "", tool.Errorf(tool.CodeInvalidArguments, "unknown format %.100q", s).
		Try("use " + strings.Join(names[:last], ", ") + " or " + names[last])
}
