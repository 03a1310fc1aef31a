package tooltest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/toolhost/toolhost/pluginsdk/tool"
	"github.com/toolhost/toolhost/pluginsdk/tooltest"
)

// A test of a provider, here of a [tool.Set].
func ExampleRun() { //nolint:testableexamples // it needs a *testing.T
	_ = func(t *testing.T) {
		tooltest.Run(t, func(t *testing.T) tool.Provider {
			set, err := tool.NewSet(tooltest.Fixture()...)
			if err != nil {
				t.Fatal(err)
			}
			return set
		})
	}
}

// A test of one tool, with its schema.
func ExampleCall() {
	add := tool.Tool{
		Definition: tool.Definition{
			Name: "echo", Description: "Answers with its arguments.",
			InputSchema: tool.Schema(`{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`),
		},
		Handler: func(_ context.Context, c tool.Call) (tool.Result, error) { return tool.Text(string(c.Arguments)), nil },
	}
	result, err := tooltest.Call(context.Background(), add, `{"n":1}`)
	fmt.Println(result.Text(), err)
	_, err = tooltest.Call(context.Background(), add, `{}`)
	fmt.Println(err)
	// Output:
	// {"n":1} <nil>
	// Invalid tool call: missing required argument: n
}

func ExampleFixture() {
	set, err := tool.NewSet(tooltest.Fixture()...)
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx := context.Background()
	result, err := set.Execute(ctx, tool.Call{Name: tooltest.EchoTool, Arguments: json.RawMessage(`{"n":1}`)})
	fmt.Println(result.Text(), err)

	result, err = set.Execute(ctx, tool.Call{Name: tooltest.FailTool})
	fmt.Println(result.Text(), result.IsError, err)
	// Output:
	// {"n":1} <nil>
	// failed as asked true <nil>
}
