package llmschema_test

import (
	"strings"
	"testing"

	"github.com/toolhost/toolhost/host/llmschema"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

func TestParseFormat(t *testing.T) {
	t.Parallel()
	for _, want := range llmschema.Formats() {
		if got, err := llmschema.ParseFormat(string(want)); got != want || err != nil {
			t.Errorf("%s gives %q, %v", want, got, err)
		}
	}
	for _, text := range []string{"", "OpenAI", "openai ", "yaml"} {
		_, err := llmschema.ParseFormat(text)
		if tool.CodeOf(err) != tool.CodeInvalidArguments ||
			!strings.Contains(err.Error(), "use openai, openai-responses, anthropic, gemini or mcp") {
			t.Errorf("%q: %v", text, err)
		}
	}
}
