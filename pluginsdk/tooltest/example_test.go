package tooltest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/internal/fixture"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
	"github.com/toolhost/toolhost/pluginsdk/tooltest"
)

// A test of a provider, here of a [tool.Set].
func ExampleRun() { //nolint:testableexamples // it needs a *testing.T
	_ = func(t *testing.T) {
		tooltest.Run(t, func(t *testing.T) tool.Provider {
			set := require.Must(tool.NewSet(fixture.Tools()...))(t)
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

// A test that fails if the definitions of a plugin change, and writes them with TOOLTEST_UPDATE=1.
func ExampleGolden() { //nolint:testableexamples // it needs a *testing.T
	_ = func(t *testing.T) {
		set := require.Must(tool.NewSet(fixture.Tools()...))(t)
		tooltest.Golden(t, set, "testdata/tools.json")
	}
}

// A recording is made once, of a provider that works, and kept with the tests.
func ExampleRecord() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = os.RemoveAll(dir) }()
	file := filepath.Join(dir, "echo.json")
	set, err := tool.NewSet(fixture.Tools()...)
	if err != nil {
		fmt.Println(err)
		return
	}

	ctx := context.Background()
	p := tooltest.Record(set, file) // in practice a plugin or a host
	_, err = p.Execute(ctx, tool.Call{Name: fixture.EchoTool, Arguments: json.RawMessage(`{"n":1}`)})
	fmt.Println(err, p.Close(ctx))

	text, err := os.ReadFile(file)
	fmt.Println(strings.Contains(string(text), `"arguments": {`), err)
	// Output:
	// <nil> <nil>
	// true <nil>
}

// A test of an agent: its tools answer as they were recorded.
func ExampleReplay() {
	weather, err := tooltest.Replay("testdata/weather.json")
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx := context.Background()
	result, err := weather.Execute(ctx, tool.Call{Name: "weather", Arguments: json.RawMessage(`{"city":"Oslo"}`)})
	fmt.Println(result.Text(), err)
	_, err = weather.Execute(ctx, tool.Call{Name: "weather", Arguments: json.RawMessage(`{"city":"Rome"}`)})
	fmt.Println(err)
	// Output:
	// {"celsius":-3} <nil>
	// testdata/weather.json has no call of weather {"city":"Rome"}: recorded are {"city":"Oslo"} (record it with tooltest.Record)
}
