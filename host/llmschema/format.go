package llmschema

import (
	"fmt"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Format is whose words an export is in.
type Format string

// The formats. What each looks like is told in the file of its name.
const (
	OpenAI    Format = "openai"    // OpenAI's Chat Completions and the many servers that are compatible
	Anthropic Format = "anthropic" // Anthropic's Messages
	Gemini    Format = "gemini"    // Google's generateContent
	MCP       Format = "mcp"       // Model Context Protocol, tools/list
)

// Formats are all formats.
func Formats() []Format { return []Format{OpenAI, Anthropic, Gemini, MCP} }

// ParseFormat reads the name of a format.
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
	return "", &tool.Error{
		Code: tool.CodeInvalidArguments, Message: fmt.Sprintf("unknown format %.100q", s),
		Hint: "use " + strings.Join(names[:last], ", ") + " or " + names[last],
	}
}
