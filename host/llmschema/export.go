package llmschema

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"

	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// exported is a tool in some format, under its name in that format.
type exported struct {
	name string
	tool any
}

// Export returns indented JSON that lists the tools in the format f, sorted by
// the exported names. The definitions are those that a host or a session lists, with their
// aliases; MCP needs none. It is an array; for [Gemini], an object with one array.
// The order of tools does not change the output.
//
// # Errors
//
//   - [tool.CodeInvalidArguments] for an unknown format
//   - [tool.CodeInvalidDefinition] for an alias that models do not accept, and
//     for a schema that is not a JSON object
//   - [tool.CodeAlreadyExists] if two tools would have the same name
func Export(f Format, tools []tool.Definition) ([]byte, error) {
	if _, err := ParseFormat(string(f)); err != nil {
		return nil, err
	}
	list := make([]exported, 0, len(tools))
	for _, t := range tools {
		e, err := f.export(t)
		if err != nil {
			return nil, err
		}
		list = append(list, e)
	}
	slices.SortFunc(list, func(a, b exported) int { return cmp.Compare(a.name, b.name) })
	shown := make([]any, len(list)) // not nil, which JSON encodes as null
	for i, e := range list {
		if i > 0 && e.name == list[i-1].name {
			return nil, &tool.Error{
				Code: tool.CodeAlreadyExists, Tool: e.name, Err: tool.ErrAlreadyExists,
				Message: "two tools would be exported as " + e.name, Hint: "give each tool a different alias",
			}
		}
		shown[i] = e.tool
	}
	if f == Gemini {
		return encode(geminiTool{shown}, "  ")
	}
	return encode(shown, "  ")
}

func (f Format) export(t tool.Definition) (exported, error) {
	name := t.Alias
	if f == MCP {
		name = t.Name
	} else if sanitize(name) != name {
		return exported{}, exportError(t, "the alias %.100q is not a name that models accept", name)
	}
	input, err := inputSchema(t)
	if err != nil {
		return exported{}, exportError(t, "its input schema is not a JSON object: %w", err)
	}
	out := exported{name: name}
	switch f {
	case OpenAI:
		out.tool = newOpenAITool(name, t, input)
	case Anthropic:
		out.tool = newAnthropicTool(name, t, input)
	case Gemini:
		out.tool = newGeminiFunction(name, t, input)
	case MCP:
		out.tool = newMCPTool(t, input)
	}
	return out, nil
}

func exportError(t tool.Definition, format string, args ...any) error {
	args = append([]any{t.Name}, args...)
	err := tool.Errorf(tool.CodeInvalidDefinition, "tool %q cannot be exported: "+format, args...)
	err.Tool, err.Hint = t.Name, "export what a host's registry holds"
	return err
}

// encode returns v as JSON for people: it does not escape < and &.
func encode(v any, indent string) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", indent)
	err := enc.Encode(v)
	return b.Bytes(), err
}
