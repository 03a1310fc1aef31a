package verify

import (
	"cmp"
	"context"
	"strings"
	"unicode/utf8"

	"google.golang.org/protobuf/proto"

	"github.com/toolhost/toolhost/internal/jsontree"
	"github.com/toolhost/toolhost/internal/sanitize"
	"github.com/toolhost/toolhost/internal/suspect"
	"github.com/toolhost/toolhost/internal/wire"
	"github.com/toolhost/toolhost/pluginsdk/tool"
	pluginv1 "github.com/toolhost/toolhost/proto/toolhost/plugin/v1"
)

// declared is a tool as the plugin describes it.
type declared struct {
	*pluginv1.ToolDefinition
	def    tool.Definition
	unread error // of the safety level; def has none then
}

// declaredBy reads the tools of a description, each on its own.
func declaredBy(about *pluginv1.DescribeResponse) []declared {
	out := make([]declared, 0, len(about.GetTools()))
	for _, t := range about.GetTools() {
		def, err := definitionOf(t)
		if err != nil {
			known := proto.CloneOf(t)
			known.Safety = ""
			def, _ = definitionOf(known)
		}
		out = append(out, declared{t, def, err})
	}
	return out
}

func definitionOf(t *pluginv1.ToolDefinition) (tool.Definition, error) {
	d, err := readAs(&pluginv1.DescribeResponse{Tools: []*pluginv1.ToolDefinition{t}})
	if err != nil {
		return tool.Definition{}, err
	}
	return d.Tools[0], nil
}

// readAs reads a description as a host does.
func readAs(about *pluginv1.DescribeResponse) (d wire.Description, err error) {
	text, err := proto.Marshal(about)
	if err == nil {
		err = d.UnmarshalBinary(text)
	}
	return d, err
}

// shown returns the name for findings.
func (d declared) shown() string { return sanitize.Quote(d.GetName(), 60) }

// maxAbout is how long a description may be for OpenAI, in characters.
const maxAbout = 1024

func definitionChecks() []Check {
	return []Check{
		eachTool("definitions.name", Fail, "each name has 1 to 128 letters, digits, _, . and -", "rename the tool",
			func(d declared) string { return wrong(tool.Definition{Name: d.GetName(), Description: "description"}) }),
		eachTool("definitions.description", Fail, "each tool has a description", "say what the tool does: models choose by it",
			func(d declared) string {
				return unless(strings.TrimSpace(d.GetDescription()) != "", "the description is empty")
			}),
		eachTool("definitions.length", Warn, "no description has more than 1,024 characters, which is all that OpenAI takes",
			"shorten it: say what the tool is for, and put details into the descriptions of arguments",
			func(d declared) string {
				return unless(utf8.RuneCountInString(d.GetDescription()) <= maxAbout, "the description is too long for OpenAI")
			}),
		eachTool("definitions.text", Fail, "titles and descriptions are plain text within the limits",
			"remove control characters, escape sequences and invisible characters, and shorten what is too long",
			func(d declared) string {
				return only(tool.Definition{Title: d.GetTitle(), Description: d.GetDescription()})
			}),
		eachTool("definitions.plain", Warn, "descriptions have no hidden text, files of secrets or orders",
			"say what the tool does: people are shown such marks by plugins show", marks),
		eachTool("definitions.safety", Fail, "each safety level is safe, cautious, dangerous or empty",
			"use one of them", func(d declared) string { return messageOf(d.unread) }),
		eachTool("definitions.says_safety", Warn, "each tool says how safe it is", "set safety: a tool that does not is treated as dangerous",
			func(d declared) string {
				return unless(d.GetSafety() != "", "it does not say how safe it is, so that each call has to be approved")
			}),
		eachTool("definitions.permission", Fail, "each permission is word:word, such as fs:read", "correct it",
			func(d declared) string { return only(tool.Definition{Permission: d.def.Permission}) }),
		eachTool("definitions.categories", Fail, "categories are words of letters, digits, _, ., : and -", "correct them",
			func(d declared) string { return only(tool.Definition{Categories: d.def.Categories}) }),
		eachTool("definitions.retries", Fail, "max_retries is 0 to 10", "correct it",
			func(d declared) string { return only(tool.Definition{MaxRetries: d.def.MaxRetries}) }),
		eachTool("definitions.idempotent", Warn, "only tools that are idempotent ask to be retried",
			"set idempotent if repeating a call has no further effect, or remove max_retries: it is ignored",
			func(d declared) string {
				return unless(d.GetMaxRetries() == 0 || d.GetIdempotent(), "it asks for retries and is not idempotent")
			}),
		eachTool("definitions.limits", Fail, "time limits are not negative, and rate limits allow at least one call in a period above zero",
			"correct timeout_ms or rate_limit", func(d declared) string {
				return only(tool.Definition{Timeout: d.def.Timeout, RateLimit: d.def.RateLimit})
			}),
		eachTool("definitions.sensitive", Fail, "each sensitive name is that of an argument",
			"correct the name, or the secret is written to logs", func(d declared) string {
				if why := only(tool.Definition{Sensitive: d.def.Sensitive}); why != "" {
					return why
				}
				known := jsontree.PropertyNames(d.GetInputSchemaJson())
				for _, name := range d.GetSensitive() {
					if !known[name] {
						return "it has no argument " + sanitize.Quote(name, 60)
					}
				}
				return ""
			}),
		eachTool("definitions.extras", Fail, "icons and _meta are as MCP has them", "correct icons_json or meta_json",
			func(d declared) string { return only(tool.Definition{Icons: d.def.Icons, Meta: d.def.Meta}) }),
	}
}

// eachTool is a check of each definition; wrong returns what is, or nothing.
func eachTool(id string, as Outcome, what, do string, wrong func(declared) string) Check {
	return check(id, "definitions", []string{"describe.answers"}, what, do, func(_ context.Context, s *subject) finding {
		var f faults
		for _, d := range s.tools {
			if why := wrong(d); why != "" {
				f.add("%s: %s", d.shown(), why)
			}
		}
		if len(s.tools) == 0 {
			return skip("it has no tools")
		}
		return f.finding(as)
	})
}

// marks returns the first text for models that has a mark where people are shown it.
func marks(d declared) string {
	texts := []string{d.GetTitle(), d.GetDescription()}
	if input, err := jsontree.Parse(d.GetInputSchemaJson()); err == nil {
		jsontree.Walk(input, func(o *jsontree.Object) { texts = append(texts, o.Text("description")) })
	}
	for _, text := range texts {
		if shown := suspect.Mark(text, "", nil); shown != strings.TrimSpace(text) {
			return sanitize.Quote(shown, 300)
		}
	}
	return ""
}

// unless returns what is wrong, if it is not well.
func unless(well bool, why string) string {
	if well {
		return ""
	}
	return why
}

// only returns what a host finds wrong with these fields of a definition, whatever the others are.
func only(d tool.Definition) string {
	d.Name, d.Description = "name", cmp.Or(strings.TrimSpace(d.Description), "description")
	return wrong(d)
}

// wrong returns what a host finds wrong with a definition; empty: nothing.
func wrong(d tool.Definition) string {
	text := messageOf(d.Check())
	if _, why, found := strings.Cut(text, ": "); found {
		return why
	}
	return text
}

// messageOf returns what an error says, without the code; empty: there is none.
func messageOf(err error) string {
	if err == nil {
		return ""
	}
	return tool.AsError(err).Message
}
