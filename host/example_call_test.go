package host_test

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/pluginsdk"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

type greeted struct {
	Name string `json:"name"`
}

func greeter() tool.Tool {
	return pluginsdk.Func("hello", "Greets a person by name.",
		func(_ context.Context, in greeted) (string, error) { return "Hello, " + in.Name + "!", nil }, pluginsdk.Safe())
}

// A step of the embedding program, around the calls of all tools.
func ExampleWithMiddleware() {
	trace := func(next tool.Handler) tool.Handler {
		return func(ctx context.Context, call tool.Call) (tool.Result, error) {
			res, err := next(ctx, call)
			fmt.Println(call.Name, "ended with", res.Text(), err)
			return res, err
		}
	}
	h, err := host.New(host.WithMiddleware(trace))
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := h.Register(greeter()); err != nil {
		fmt.Println(err)
		return
	}
	h.Call(context.Background(), tool.Call{Name: "hello", Arguments: json.RawMessage(`{"name":"you"}`)})
	// Output: hello ended with Hello, you! <nil>
}

// A call that runs once, however often it is repeated.
func ExampleSession_CallWith() {
	h, err := host.New()
	if err != nil {
		fmt.Println(err)
		return
	}
	sent := 0
	send := func(context.Context, greeted) (string, error) {
		sent++
		return fmt.Sprint("letter ", sent), nil
	}
	if err := h.Register(pluginsdk.Func("send", "Sends a letter.", send, pluginsdk.Safe())); err != nil {
		fmt.Println(err)
		return
	}
	s := h.Session()
	for range 2 {
		out, _, _ := s.CallWith(context.Background(),
			tool.Call{Name: "send", Arguments: json.RawMessage(`{"name":"you"}`)},
			host.CallOptions{IdempotencyKey: "letter-to-you", Timeout: time.Minute})
		fmt.Println(out.Content)
	}
	// Output:
	// letter 1
	// letter 1
}
