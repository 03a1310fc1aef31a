package llmschema

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"

	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Tool is what an export needs of a tool.
type Tool struct {
	// Alias is the name for models, from [Alias]. MCP has no need of it.
	Alias string
	// Definition is the tool with the safety level that its operator gave it.
	Definition tool.Definition
}

// exported is a tool in the words of a format, under its name there.
type exported struct {
	name string
	tool any
}

// Export is indented JSON that lists the tools in the words of f, sorted by the
// names that it shows. It is an array, for [Gemini] an object with one. The same
// tools in any order give the same bytes.
//
// # Errors
//
//   - [tool.CodeInvalidArguments] for an unknown format
//   - [tool.CodeInvalidDefinition] for an alias that models do not accept, and
//     for a schema that is no JSON object
//   - [tool.CodeAlreadyExists] where two tools would be shown under one name
func Export(f Format, tools []Tool) ([]byte, error) {
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
	shown := make([]any, len(list)) // not nil, which is null in JSON
	for i, e := range list {
		if i > 0 && e.name == list[i-1].name {
			return nil, &tool.Error{
				Code: tool.CodeAlreadyExists, Tool: e.name, Err: tool.ErrAlreadyExists,
				Message: "two tools would be exported as " + e.name, Hint: "give each an alias of its own",
			}
		}
		shown[i] = e.tool
	}
	if f == Gemini {
		return encode(geminiTool{shown}, "  ")
	}
	return encode(shown, "  ")
}

func (f Format) export(t Tool) (exported, error) {
	name := t.Alias
	if f == MCP {
		name = t.Definition.Name
	} else if fit(name) != name {
		return exported{}, unfit(t, "the alias %.100q is no name that models accept", name)
	}
	input, err := inputSchema(t.Definition)
	if err != nil {
		return exported{}, unfit(t, "its input schema is no JSON object: %w", err)
	}
	out := exported{name: name}
	switch f {
	case OpenAI:
		out.tool = newOpenAITool(name, t.Definition, input)
	case Anthropic:
		out.tool = newAnthropicTool(name, t.Definition, input)
	case Gemini:
		out.tool = newGeminiFunction(name, t.Definition, input)
	case MCP:
		out.tool = newMCPTool(t.Definition, input)
	}
	return out, nil
}

func unfit(t Tool, format string, args ...any) error {
	err := tool.Errorf(tool.CodeInvalidDefinition, "tool %q cannot be exported: "+format, append([]any{t.Definition.Name}, args...)...)
	err.Tool, err.Hint = t.Definition.Name, "export what a host's registry holds"
	return err
}

// encode writes JSON as people read it: with < and & as they are.
func encode(v any, indent string) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", indent)
	err := enc.Encode(v)
	return b.Bytes(), err
}
