package llmschema

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/toolhost/toolhost/internal/jsontree"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Offer is tools in the format of a provider.
type Offer struct {
	// Tools is indented JSON that lists the tools, sorted by their exported names. It is an
	// array; for [Gemini], an object with one array.
	Tools json.RawMessage `json:"tools"`
	// Notes says what is different from the tools' definitions, sorted by name. It has an
	// entry for each tool that is not exported as it is.
	Notes []Note `json:"notes"`
	// Warnings says what a provider may refuse of the tools together, one line each: more of them than it takes
	// in a request, long descriptions.
	Warnings []string `json:"warnings,omitempty"`

	restorers map[string]restorer // of tools whose arguments differ, by exported name
}

// Note says how a tool's export differs from its definition.
type Note struct {
	// Tool is the tool's name.
	Tool string `json:"tool"`
	// LeftOut is why the tool is not exported; empty: it is.
	LeftOut string `json:"left_out,omitempty"`
	// Rewritten lists the changes that do not change which arguments are valid.
	Rewritten []string `json:"rewritten,omitempty"`
	// Lost lists what the model is not told, because the provider does not take it. The
	// host still checks it.
	Lost []string `json:"lost,omitempty"`
	// Unstrict is why the tool is not strict although [Strict] is asked for; empty: it is.
	Unstrict string `json:"unstrict,omitempty"`
	// Renamed has the tool's own names of properties, by those that the model knows. See
	// [Offer.Arguments].
	Renamed map[string]string `json:"renamed,omitempty"`
}

// defined is a [tool.Definition], and what embeds one, such as a host's tool.
type defined interface{ Defined() tool.Definition }

// Export returns the tools in the format f: those that a host or a session lists. One without an alias gets one;
// MCP needs none. The order of tools does not change the output.
//
// A tool that the provider would not take as it is, is changed or left out, which the
// notes report: providers refuse a whole request for one tool. The package comment says
// how.
//
// # Errors
//
// [tool.CodeInvalidArguments] for an unknown format, and for [Strict] in a format that has none.
func Export[T defined](f Format, tools []T, opts ...Option) (*Offer, error) {
	if _, err := ParseFormat(string(f)); err != nil {
		return nil, err
	}
	var chosen export
	for _, opt := range opts {
		opt(&chosen)
	}
	if chosen.strict && f != OpenAI && f != OpenAIResponses {
		return nil, tool.Errorf(tool.CodeInvalidArguments, "the format %s has no strict mode", f).
			Try(fmt.Sprintf("use %s or %s, or leave it out", OpenAI, OpenAIResponses))
	}
	sorted := named(tools)
	slices.SortFunc(sorted, func(a, b tool.Definition) int {
		return cmp.Or(cmp.Compare(f.nameOf(a), f.nameOf(b)), cmp.Compare(a.Name, b.Name))
	})
	offer := &Offer{Notes: []Note{}, restorers: map[string]restorer{}}
	shown := make([]any, 0, len(tools)) // not nil, which JSON encodes as null
	aliases := f.aliases(sorted)
	last := ""
	for _, d := range sorted {
		name, note := f.nameOf(d), Note{Tool: d.Name}
		input, err := f.rewritten(d, &note)
		var nullable map[*jsontree.Object][]string
		if chosen.strict && err == nil {
			if closed, optional, why := strictly(input, &note); why == nil {
				input, nullable = closed, optional
			} else {
				note.Unstrict = why.Error()
			}
		}
		switch {
		case err != nil:
			note = Note{Tool: d.Name, LeftOut: err.Error()}
		case f != MCP && sanitize(name) != name:
			note = Note{Tool: d.Name, LeftOut: fmt.Sprintf("the alias %.100q is not a name that models accept", name)}
		case len(shown) > 0 && name == last:
			note = Note{Tool: d.Name, LeftOut: "another tool is exported as " + name}
		default:
			last = name
			shown = append(shown, f.tool(name, d, aliases, input, chosen.strict && note.Unstrict == ""))
			if len(note.Renamed) > 0 || len(nullable) > 0 {
				offer.restorers[name] = restorer{input, note.Renamed, nullable}
			}
		}
		if note.LeftOut != "" || len(note.Rewritten)+len(note.Lost) > 0 || note.Unstrict != "" {
			offer.Notes = append(offer.Notes, note)
		}
	}
	slices.SortStableFunc(offer.Notes, func(a, b Note) int { return cmp.Compare(a.Tool, b.Tool) })
	offer.Warnings = f.warnings(sorted, len(shown))
	var list any = shown
	if f == Gemini {
		list = geminiTool{shown}
	}
	var err error
	offer.Tools, err = encode(list, "  ")
	return offer, err
}

// named returns the definitions of tools, each with an alias.
func named[T defined](tools []T) []tool.Definition {
	out, taken := make([]tool.Definition, len(tools)), map[string]bool{}
	for i, t := range tools {
		out[i] = t.Defined()
		taken[out[i].Alias] = true
	}
	for i := range out {
		if d := &out[i]; d.Alias == "" {
			d.Alias = Alias(d.Name, func(alias string) bool { return taken[alias] })
			taken[d.Alias] = true
		}
	}
	return out
}

const (
	// maxOpenAI is how many tools OpenAI takes in a request, "array too long. Expected an array with maximum length 128":
	// https://github.com/zed-industries/zed/issues/32946
	maxOpenAI = 128
	// maxDescription is how many characters of a description all servers take that speak OpenAI's API. OpenAI's
	// own bound was that until 2025.
	maxDescription = 1024
)

// warnings returns what may be refused of all tools together.
func (f Format) warnings(tools []tool.Definition, shown int) (out []string) {
	if f != OpenAI && f != OpenAIResponses {
		return nil
	}
	if shown > maxOpenAI {
		out = append(out, fmt.Sprintf("there are %d tools, and OpenAI takes %d in a request", shown, maxOpenAI))
	}
	var long []string
	for _, d := range tools {
		if utf8.RuneCountInString(d.Description) > maxDescription {
			long = append(long, d.Name)
		}
	}
	if n := len(long); n > 0 {
		out = append(out, fmt.Sprintf("descriptions of over %d characters, which some servers refuse: %d, as of %s", maxDescription, n, long[0]))
	}
	return out
}

// Arguments returns the arguments that a model gave for a tool as the tool's own schema
// names them, without those that are null only because [Strict] makes every argument required.
// Name is the tool's name in the export. Arguments of other tools are returned as they are.
func (o *Offer) Arguments(name string, args json.RawMessage) json.RawMessage {
	r, ok := o.restorers[name]
	if !ok {
		return args
	}
	return r.arguments(args)
}

// nameOf returns the name under which a tool is exported.
func (f Format) nameOf(d tool.Definition) string {
	if f == MCP {
		return d.Name
	}
	return d.Alias
}

// tool returns an exported tool.
func (f Format) tool(name string, d tool.Definition, aliases map[string]string, input *jsontree.Object, strict bool) any {
	about := withAliases(d.Description, aliases)
	switch f {
	case OpenAI:
		return openAITool{"function", openAIFunction{name, about, input, strict}}
	case OpenAIResponses:
		return openAIResponsesTool{"function", openAIFunction{name, about, input, false}, strict}
	case Anthropic:
		return anthropicTool{name, about, input}
	case Gemini:
		return geminiFunction{name, about, input}
	}
	return newMCPTool(d, input)
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
