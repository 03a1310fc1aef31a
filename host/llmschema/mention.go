package llmschema

import (
	"strings"

	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// aliases returns the aliases of the tools that have another name, by name. Models know
// the tools by them, except through MCP.
func (f Format) aliases(tools []tool.Definition) map[string]string {
	out := map[string]string{}
	for _, d := range tools {
		if f != MCP && d.Alias != d.Name {
			out[d.Name] = d.Alias
		}
	}
	return out
}

// withAliases returns a description that mentions other tools by their aliases.
func withAliases(text string, aliases map[string]string) string {
	if len(aliases) == 0 || !strings.ContainsAny(text, ".-") {
		return text
	}
	var b strings.Builder
	for text != "" {
		end := strings.IndexFunc(text, func(r rune) bool { return r != '.' && aliasRune(r) != r })
		if end < 0 {
			end = len(text)
		}
		word := strings.TrimRight(text[:end], ".-")
		if alias, ok := aliases[word]; ok {
			b.WriteString(alias)
		} else {
			b.WriteString(word)
		}
		b.WriteString(text[len(word):end])
		text = text[end:]
		next := strings.IndexFunc(text, func(r rune) bool { return r == '.' || aliasRune(r) == r })
		if next < 0 {
			next = len(text)
		}
		b.WriteString(text[:next])
		text = text[next:]
	}
	return b.String()
}
