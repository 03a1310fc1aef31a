package verify

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/toolhost/toolhost/host/llmschema"
	"github.com/toolhost/toolhost/internal/jsontree"
	"github.com/toolhost/toolhost/internal/sanitize"
	"github.com/toolhost/toolhost/internal/schema"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

func schemaChecks() []Check {
	return []Check{
		eachTool("schemas.input", Fail, "each input schema is JSON Schema 2020-12 of an object, within a host's limits",
			"correct the schema: a host leaves the tool out", func(d declared) string {
				_, err := schema.CompileInput(d.GetInputSchemaJson())
				return textOf(err)
			}),
		eachTool("schemas.output", Fail, "each output schema is JSON Schema 2020-12, within a host's limits",
			"correct the schema: a host leaves the tool out", func(d declared) string {
				_, err := schema.CompileOutput(d.GetOutputSchemaJson())
				return textOf(err)
			}),
		eachTool("schemas.patterns", Warn, "hosts can check all of each schema", "write patterns without lookaround and back references",
			func(d declared) string {
				for _, text := range [][]byte{d.GetInputSchemaJson(), d.GetOutputSchemaJson()} {
					if s, err := schema.CompileOutput(text); err == nil && len(s.Warnings()) > 0 {
						return s.Warnings()[0]
					}
				}
				return ""
			}),
		eachTool("schemas.described", Warn, "each argument has a description", "say what the argument is: models fill it in by that",
			func(d declared) string {
				var missing []string
				for _, a := range argumentsOf(d) {
					if !a.Has("description") && !a.Has("$ref") && !a.Has("title") {
						missing = append(missing, a.name)
					}
				}
				if len(missing) == 0 {
					return ""
				}
				return "without a description: " + named(missing)
			}),
		values("schemas.defaults", "default", "each default fits the schema of its argument"),
		values("schemas.examples", "examples", "each example fits the schema of its argument"),
	}
}

func textOf(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// argument is an argument of a tool: its schema, and the document that it is in.
type argument struct {
	*jsontree.Object
	name string
	root *jsontree.Object
}

func argumentsOf(d declared) (out []argument) {
	root, _ := jsontree.ParseObject(d.GetInputSchemaJson()) // another check tells
	for _, m := range root.Object("properties").All() {
		if o, ok := m.Value.(*jsontree.Object); ok {
			out = append(out, argument{o, m.Name, root})
		}
	}
	return out
}

// values is a check of what schemas have in a keyword.
func values(id, keyword, what string) Check {
	return eachTool(id, Fail, what, "correct the value, or the schema: models use the one and hosts refuse it by the other",
		func(d declared) string {
			for _, a := range argumentsOf(d) {
				value := a.Get(keyword)
				list, several := value.([]any)
				if keyword == "default" || !several {
					list = []any{value}
				}
				for _, v := range list {
					if why := a.refuses(v); value != nil && why != "" {
						return fmt.Sprintf("%s of %s: %s", keyword, sanitize.Quote(a.name, 60), why)
					}
				}
			}
			return ""
		})
}

// refuses returns why a value does not fit. References within the document are kept.
func (a argument) refuses(v any) string {
	alone := jsontree.Of("type", json.RawMessage(`"object"`))
	alone.Set("properties", jsontree.Of(a.name, a.Object))
	for _, keyword := range []string{"$schema", "$defs", "definitions"} {
		if a.root.Has(keyword) {
			alone.Set(keyword, a.root.Get(keyword))
		}
	}
	compiled, err := schema.CompileInput(jsontree.Encode(alone))
	if err != nil || jsontree.Is(v, "null") { // it refers to what is not here, or there is none
		return ""
	}
	return textOf(compiled.Check(context.Background(), jsontree.Encode(jsontree.Of(a.name, v))))
}

func modelChecks() []Check {
	provider := func(id string, format llmschema.Format, name string) Check {
		return Check{
			ID: id, See: "definitions", after: []string{"describe.unique", "schemas.input", "definitions.name"},
			What: name + " takes each tool, and is told all of its schema",
			Do:   "write the schema without the keywords that the reason names; the host checks them all the same, and the model does not know them",
			run:  func(_ context.Context, s *subject) finding { return s.export(format) },
		}
	}
	return []Check{
		provider("models.openai", llmschema.OpenAI, "OpenAI"),
		provider("models.anthropic", llmschema.Anthropic, "Anthropic"),
		provider("models.gemini", llmschema.Gemini, "Gemini"),
		provider("models.mcp", llmschema.MCP, "an MCP client"),
		check("models.names", "definitions", []string{"definitions.name", "describe.unique"},
			"names stay recognizable and different for models, which know letters, digits, _ and -, at most 64",
			"shorten the name, or rename one of the two: for models they are the same",
			func(_ context.Context, s *subject) finding {
				var f faults
				seen := map[string]string{}
				for _, d := range s.tools {
					alias := llmschema.Alias(d.GetName(), func(string) bool { return false })
					if len(alias) < len(d.GetName()) {
						f.add("%s is cut to %s", d.shown(), alias)
					} else if other := seen[alias]; other != "" {
						f.add("%s and %s are both %s", sanitize.Quote(other, 60), d.shown(), alias)
					}
					seen[alias] = d.GetName()
				}
				return f.finding(Warn)
			}),
		check("models.count", "definitions", []string{"describe.answers"},
			"there are at most 128 tools, which is all that OpenAI takes in a request",
			"offer fewer tools with more arguments, or several plugins",
			func(_ context.Context, s *subject) finding {
				return foundIf(len(s.tools) > 128, warn("there are %d", len(s.tools)))
			}),
	}
}

// export exports the tools for a provider.
func (s *subject) export(format llmschema.Format) finding {
	var defs []tool.Definition
	taken := map[string]bool{}
	for _, d := range s.tools {
		def := d.def
		def.Alias = llmschema.Alias(def.Name, func(alias string) bool { return taken[alias] })
		taken[def.Alias] = true
		defs = append(defs, def)
	}
	offer, err := llmschema.Export(format, defs)
	if err != nil {
		return failIf(err)
	}
	var out, lost faults
	for _, note := range offer.Notes {
		switch {
		case note.LeftOut != "":
			out.add("%s: %s", sanitize.Quote(note.Tool, 60), note.LeftOut)
		case len(note.Lost) > 0:
			lost.add("%s: the model is not told %s", sanitize.Quote(note.Tool, 60), strings.Join(note.Lost, ", "))
		}
	}
	if len(out) > 0 {
		return out.finding(Fail)
	}
	return lost.finding(Warn)
}
