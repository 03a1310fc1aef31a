package tooltest

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"strings"
	"sync"
	"testing"

	"github.com/toolhost/toolhost/internal/callctx"
	"github.com/toolhost/toolhost/internal/sample"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// ownTool is a tool that is none of the fixture's.
const ownTool = "own.add"

func own() tool.Tool {
	return tool.Tool{
		Definition: tool.Definition{
			Name: ownTool, Description: "Adds.", Safety: tool.Safe,
			InputSchema: tool.Schema(`{"type":"object","properties":{"a":{"type":"integer","minimum":3},"b":{"type":"integer"}},
				"required":["a"],"additionalProperties":false}`),
			OutputSchema: tool.Schema(`{"type":"object","properties":{"sum":{"type":"integer"}},"required":["sum"]}`),
		},
		Handler: func(_ context.Context, c tool.Call) (tool.Result, error) {
			var in struct{ A, B int }
			if err := json.Unmarshal(c.Arguments, &in); err != nil {
				return tool.Result{}, err
			}
			if in.A < 0 {
				return tool.Result{}, errors.New("a is negative")
			}
			out, err := json.Marshal(map[string]int{"sum": in.A + in.B})
			return tool.Result{Structured: out}, err
		},
	}
}

// The suite runs on a provider with tools of its own; what is dangerous is not called.
func TestOwnTools(t *testing.T) {
	t.Parallel()
	harm := own()
	harm.Name, harm.Safety = "own.harm", tool.Dangerous
	harm.Handler = func(context.Context, tool.Call) (tool.Result, error) { panic("called") }
	exact := own()
	exact.Name = "own.exact"
	exact.InputSchema = tool.Schema(`{"type":"object","properties":{"a":{"type":"integer"},"id":{"type":"string","pattern":"^[A-Z]{3}[0-9]$"}},"required":["a","id"]}`)
	Run(t, func(t *testing.T) tool.Provider {
		set := require.Must(tool.NewSet(own(), harm, exact))(t)
		return set
	}, tool.Call{Name: "own.exact", Arguments: json.RawMessage(`{"a":1,"id":"ABC1"}`)})
}

func TestCall(t *testing.T) {
	t.Parallel()
	lying := own()
	lying.Handler = func(context.Context, tool.Call) (tool.Result, error) { return tool.Text("5"), nil }
	broken := own()
	broken.InputSchema = tool.Schema(`{"type":"array"}`)
	for _, c := range []struct {
		name      string
		tool      tool.Tool
		arguments string
		code      tool.Code
		text      string
	}{
		{"fits", own(), `{"a":3,"b":4}`, "", `{"sum":7}`},
		{"missing", own(), ``, tool.CodeInvalidArguments, "Invalid tool call: missing required argument: a"},
		{"unknown", own(), `{"a":3,"c":1}`, tool.CodeInvalidArguments, "Invalid tool call: unexpected argument: c"},
		{"out of range", own(), `{"a":-1}`, tool.CodeInvalidArguments, "Invalid tool call: "},
		{"lies", lying, `{"a":3}`, tool.CodeInvalidResult, "which its output schema promises"},
		{"schema", broken, `{"a":3}`, tool.CodeInvalidDefinition, "input schema"},
		{"nil handler", tool.Tool{Definition: own().Definition}, `{"a":3}`, tool.CodeInvalidDefinition, "the handler is nil"},
	} {
		res, err := Call(t.Context(), c.tool, c.arguments)
		if tool.CodeOf(err) != c.code {
			t.Errorf("%s: %v, want the code %q", c.name, err, c.code)
			continue
		}
		got := res.Text()
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, c.text) {
			t.Errorf("%s: %q, want ...%q...", c.name, got, c.text)
		}
	}
}

// What is made of a schema fits it.
func TestArguments(t *testing.T) {
	t.Parallel()
	for _, properties := range []string{
		`"a":{"type":"string"},"b":{"type":["null","integer"]},"c":{"type":"boolean"}`,
		`"a":{"type":"string","minLength":10,"maxLength":12},"b":{"type":"string","maxLength":1}`,
		`"a":{"type":"number","exclusiveMinimum":5,"multipleOf":2.5},"b":{"type":"integer","maximum":-3}`,
		`"a":{"type":"integer","minimum":10,"exclusiveMaximum":12},"b":{"enum":["x","y"]},"c":{"const":7}`,
		`"a":{"type":"array","items":{"type":"string"},"minItems":2},"b":{"type":"array","prefixItems":[{"type":"integer"}],"items":false}`,
		`"a":{"anyOf":[{"type":"integer"},{"type":"string"}]},"b":{"oneOf":[{"type":"object","properties":{"x":{"type":"null"}},"required":["x"]}]}`,
		`"a":{"type":"object","required":["x"],"properties":{"x":{"type":"integer"}},"allOf":[{"required":["y"],"properties":{"y":{"type":"string"}}}]}`,
		`"a":{"type":"string","format":"date-time"},"b":{"type":"string","format":"uuid"},"c":{"type":"string","contentEncoding":"base64"}`,
		`"a":{"$ref":"#/$defs/tree"}`, `"a":true,"b":{"minimum":3},"c":{"default":{"any":1}}`,
	} {
		for _, all := range []bool{true, false} {
			d := tool.Definition{Name: "x", InputSchema: tool.Schema(`{"type":"object","additionalProperties":false,"required":["a"],
				"$defs":{"tree":{"type":"object","properties":{"children":{"type":"array","items":{"$ref":"#/$defs/tree"}}}}},
				"properties":{` + properties + `}}`)}
			args := sample.Arguments(d.InputSchema, all)
			if err := checkArguments(t.Context(), d, args); err != nil {
				t.Errorf("%s: made %s: %v", properties, args, err)
			}
		}
	}
}

// A tool that asks is called with each kind of answer.
func TestOwnQuestions(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	answers := map[tool.Action]string{}
	asks := own()
	asks.Handler = func(ctx context.Context, _ tool.Call) (tool.Result, error) {
		if callctx.Get[tool.Asker](ctx, callctx.Ask{}) == nil {
			return tool.Result{Structured: json.RawMessage(`{"sum":0}`)}, nil
		}
		a, err := tool.Ask(ctx, tool.Question{
			Message: "How many?", Schema: json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer","minimum":3}},"required":["n"]}`),
		})
		mu.Lock()
		defer mu.Unlock()
		answers[a.Action] = string(a.Content)
		return tool.Result{Structured: json.RawMessage(`{"sum":0}`)}, err
	}
	t.Run("suite", func(t *testing.T) {
		Run(t, func(t *testing.T) tool.Provider {
			set := require.Must(tool.NewSet(asks))(t)
			return set
		})
	})
	want := map[tool.Action]string{tool.Decline: "", tool.Cancel: "", tool.Accept: `{"n":3}`}
	if !maps.Equal(answers, want) {
		t.Errorf("it was answered %v, want %v", answers, want)
	}
}
