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
