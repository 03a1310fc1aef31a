package llmschema

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/internal/jsontree"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// rule changes an input schema so that a provider accepts it. It reports what it changed
// and what is lost. An error leaves the tool out.
type rule func(*rewrite) error

// rules are what each format needs, in the order in which they are applied. A provider that
// refuses one tool refuses the whole request, with the tools of all plugins.
//
// Next to each rule is where it comes from.
var rules = map[Format][]rule{
	OpenAI:          openAIRules,
	OpenAIResponses: openAIRules,
	Anthropic: {
		// "tools.0.custom.input_schema: JSON schema is invalid. It must match JSON Schema
		// draft 2020-12": https://github.com/Dokploy/mcp/issues/74
		draft2020,
		// "input_schema does not support oneOf, allOf, or anyOf at the top level":
		// https://github.com/anthropics/claude-code/issues/40075
		flatRoot,
		// "Property keys should match pattern '^[a-zA-Z0-9_.-]{1,64}$'":
		// https://github.com/anthropics/claude-code/issues/79418,
		// https://github.com/ComposioHQ/composio/issues/3500
		propertyNames,
		// https://platform.claude.com/docs/en/agents-and-tools/tool-use/implement-tool-use
		objectRoot,
		noErrorTexts,
	},
	Gemini: {
		draft2020,
		flatRoot,
		constAsEnum,
		noErrorTexts,
		// At every depth: see geminiKeywords. "enum" is for strings and numbers: the same page;
		// https://github.com/nicobailon/pi-subagents/issues/1950
		geminiOnly,
		// "If $ref is set on a sub-schema, no other properties, except for than those
		// starting as a $, may be set": the same page;
		// https://github.com/su-kaka/gcli2api/pull/374
		refAlone,
		// "parameters.properties[x].items: missing field":
		// https://github.com/cline/cline/issues/7339
		arrayItems,
		objectRoot,
	},
	MCP: {
		// "Schemas without an explicit $schema field default to JSON Schema 2020-12",
		// which is all that a client has to know:
		// https://modelcontextprotocol.io/specification/2025-11-25/basic#json-schema-usage
		draft2020,
	},
}

var openAIRules = []rule{
	// The documented subset is of 2020-12:
	// https://platform.openai.com/docs/guides/structured-outputs#supported-schemas
	draft2020,
	// "schema must have type 'object' and not have 'oneOf'/'anyOf'/'allOf'/'enum'/'const'/
	// 'not' at the top level": https://github.com/langchain-ai/langchainjs/issues/9804,
	// https://github.com/goruck/home-generative-agent/pull/545
	flatRoot,
	plainRoot,
	// "array schema missing items", tuples included:
	// https://github.com/sigoden/aichat/pull/1049,
	// https://github.com/AnswerDotAI/fastcore/issues/798
	arrayItems,
	// "regex lookaround is not supported. Found at $.properties.fileKey.pattern":
	// https://github.com/cline/cline/issues/12205, https://github.com/Dokploy/mcp/issues/45
	noLookaround,
	// "object schema missing properties":
	// https://community.openai.com/t/function-calling-with-no-parameters/265650
	objectRoot,
	noErrorTexts,
}

// rewrite is one schema on its way to a provider.
type rewrite struct {
	root *jsontree.Object
	note *Note
	work int // of merging forms, see maxMergeWork
}

// rewrote notes a change that keeps the meaning.
func (r *rewrite) rewrote(format string, args ...any) {
	r.note.Rewritten = appendNew(r.note.Rewritten, fmt.Sprintf(format, args...))
}

// lose notes what the model is not told. The host checks the arguments by the tool's own
// schema, so nothing more is allowed.
func (r *rewrite) lose(format string, args ...any) {
	r.note.Lost = appendNew(r.note.Lost, fmt.Sprintf(format, args...))
}

func appendNew(list []string, text string) []string {
	if slices.Contains(list, text) {
		return list
	}
	return append(list, text)
}

// rewritten returns the input schema of a tool as a provider takes it.
func (f Format) rewritten(d tool.Definition, note *Note) (*jsontree.Object, error) {
	text := d.InputSchema
	if len(text) == 0 {
		text = tool.Schema(jsontree.NoArguments)
	}
	root, err := jsontree.ParseObject(text)
	if err != nil {
		return nil, fmt.Errorf("its input schema is not a JSON object: %w", err)
	}
	r := &rewrite{root: root, note: note}
	for _, apply := range rules[f] {
		if err := apply(r); err != nil {
			return nil, err
		}
	}
	if len(note.Rewritten)+len(note.Lost) > 0 { // a reference may have lost what it leads to
		if ref := dangling(r.root); ref != "" {
			return nil, fmt.Errorf("its schema refers to %s, which cannot be expressed", ref)
		}
	}
	return r.root, nil
}

// dangling returns a reference that leads nowhere, or "".
func dangling(root *jsontree.Object) (ref string) {
	jsontree.Walk(root, func(s *jsontree.Object) {
		if to := s.Text("$ref"); strings.HasPrefix(to, "#") && jsontree.Follow(root, to) == nil {
			ref = to
		}
	})
	return ref
}

// objectRoot gives the root a type and properties.
func objectRoot(r *rewrite) error {
	if r.root.Text("type") != "object" {
		r.root.Set("type", "object")
	}
	if !r.root.Has("properties") {
		r.root.Set("properties", &jsontree.Object{})
		r.rewrote("it has empty properties")
	}
	return nil
}

// plainRoot leaves out what else OpenAI does not take at the root.
func plainRoot(r *rewrite) error {
	for _, name := range []string{"enum", "const", "not"} {
		if r.root.Drop(name) {
			r.lose("what %s says at the root", name)
		}
	}
	return nil
}

// arrayItems gives arrays of anything the items that say so.
func arrayItems(r *rewrite) error {
	jsontree.Walk(r.root, func(s *jsontree.Object) {
		if s.Has("items") || !slices.Contains(s.Types(), "array") {
			return
		}
		s.Set("items", &jsontree.Object{})
		r.rewrote("arrays have items")
	})
	return nil
}

// constAsEnum writes a constant as an enum of one value.
func constAsEnum(r *rewrite) error {
	jsontree.Walk(r.root, func(s *jsontree.Object) {
		value := s.Get("const")
		isValue := func(v any) bool { return jsontree.Equal(v, value) }
		switch {
		case value == nil: // there is no constant
			return
		case !s.Has("enum"):
			s.Rename("const", "enum")
		case slices.ContainsFunc(s.List("enum"), isValue):
			s.Drop("const")
		default:
			s.Drop("const")
			r.lose("a constant that is not in its enum")
			return
		}
		s.Set("enum", []any{value})
		r.rewrote("constants are enums of one value")
	})
	return nil
}

// refAlone moves a reference that has neighbours into an anyOf of one form.
func refAlone(r *rewrite) error {
	jsontree.Walk(r.root, func(s *jsontree.Object) {
		ref := s.Get("$ref")
		neighbours := slices.ContainsFunc(s.Members, func(m jsontree.Member) bool { return !strings.HasPrefix(m.Name, "$") })
		if ref == nil || !neighbours {
			return
		}
		if s.Drop("anyOf") {
			r.lose("the forms next to a reference")
		}
		s.Rename("$ref", "anyOf")
		s.Set("anyOf", []any{jsontree.Of("$ref", ref)})
		r.rewrote("references stand alone")
	})
	return nil
}

// lookaround finds (?=, (?!, (?<= and (?<! in a pattern. One in a class of characters is found, too.
var lookaround = regexp.MustCompile(`(?:^|[^\\])(?:\\\\)*\(\?<?[=!]`)

// noLookaround leaves out the patterns that look ahead or behind.
func noLookaround(r *rewrite) error {
	jsontree.Walk(r.root, func(s *jsontree.Object) {
		if lookaround.MatchString(s.Text("pattern")) {
			s.Drop("pattern")
			r.lose("a pattern with lookaround")
		}
		if names := s.Object("patternProperties"); names != nil && names.DropFunc(lookaround.MatchString) {
			r.lose("names of a pattern with lookaround")
		}
	})
	return nil
}

func noErrorTexts(r *rewrite) error {
	jsontree.Walk(r.root, func(s *jsontree.Object) { s.Drop(jsontree.ErrorMessage) })
	return nil
}
