// Command ten is the plugin with which TestTen compares languages. Its twins are next to it.
package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/toolhost/toolhost/pluginsdk"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

type text struct {
	Text string `json:"text"`
}

type terms struct {
	A int `json:"a"`
	B int `json:"b" default:"1"`
}

type sum struct {
	Sum int `json:"sum"`
}

type failing struct {
	Code       string  `json:"code"`
	RetryAfter float64 `json:"retry_after,omitempty"`
}

type counted struct {
	N int `json:"n"`
}

type sleeping struct {
	Seconds float64 `json:"seconds"`
}

type value struct {
	Value string `json:"value"`
}

type question struct {
	Question string `json:"question"`
}

type answer struct {
	Answer string `json:"answer"`
}

type settings struct {
	Greeting string `json:"greeting" default:"hello"`
}

type greeting struct {
	Greeting string `json:"greeting"`
}

type place struct {
	Path string `json:"path"`
}

type none = struct{}

var (
	kept = pluginsdk.Sessions[value]{Drop: func(v *value) { fmt.Fprintln(os.Stderr, "forgot", v.Value) }}
	set  settings
)

func echo(_ context.Context, in text) (text, error) { return in, nil }

func add(_ context.Context, in terms) (sum, error) { return sum{in.A + in.B}, nil }

func fail(_ context.Context, in failing) (none, error) {
	err := tool.Errorf(tool.Code(in.Code), "as you asked").Try("do not ask")
	err.RetryAfter = tool.Duration(in.RetryAfter * float64(time.Second))
	return none{}, err
}

func count(ctx context.Context, in counted) (counted, error) {
	out := tool.Stream(ctx)
	for i := 1; i <= in.N; i++ {
		tool.Report(ctx, tool.Progress{Done: float64(i), Total: float64(in.N)})
		if _, err := fmt.Fprintln(out, i); err != nil {
			return counted{}, err
		}
	}
	return in, nil
}

func sleep(ctx context.Context, in sleeping) (none, error) {
	tool.Report(ctx, tool.Progress{Total: in.Seconds})
	select {
	case <-time.After(time.Duration(in.Seconds * float64(time.Second))):
		return none{}, nil
	case <-ctx.Done():
		tool.Log(ctx, slog.LevelWarn, "woken")
		return none{}, ctx.Err()
	}
}

func remember(ctx context.Context, in value) (none, error) {
	*kept.Get(ctx) = in
	return none{}, nil
}

func recall(ctx context.Context, _ none) (value, error) { return *kept.Get(ctx), nil }

func ask(ctx context.Context, in question) (answer, error) {
	_, action, err := pluginsdk.Ask[none](ctx, in.Question)
	return answer{string(action)}, err
}

func configured(context.Context, none) (greeting, error) { return greeting(set), nil }

func change(_ context.Context, in place) (string, error) { return "changed " + in.Path, nil }

func wouldChange(_ context.Context, in place) (tool.Result, error) {
	return tool.Text("would change " + in.Path), nil
}

func boom(context.Context, none) (none, error) { panic("boom") }

func main() {
	safe := pluginsdk.Safe()
	pluginsdk.Plugin{
		Name: "ten", Version: "0.1.0", Needs: &tool.Needs{},
		Configuration: pluginsdk.Configuration(func(_ context.Context, _ pluginsdk.Config, s settings) error {
			set = s
			return nil
		}),
		KeepsSessions: true, SessionEnded: kept.Ended,
		Tools: []tool.Tool{
			pluginsdk.Func("echo", "Says it again.", echo, safe),
			pluginsdk.Func("add", "Adds.", add, safe),
			pluginsdk.Func("fail", "Fails.", fail, safe),
			pluginsdk.Func("count", "Counts.", count, safe),
			pluginsdk.Func("sleep", "Waits.", sleep, safe),
			pluginsdk.Func("remember", "Keeps a value for the session.", remember, safe),
			pluginsdk.Func("recall", "Has the session's value, or nothing.", recall, safe),
			pluginsdk.Func("ask", "Asks for a yes or a no.", ask, safe),
			pluginsdk.Func("configured", "Has the configured greeting.", configured, safe),
			pluginsdk.Func("change", "Changes.", change, pluginsdk.Cautious(), pluginsdk.Preview(wouldChange)),
			pluginsdk.Func("boom", "Breaks.", boom, safe),
		},
	}.Main()
}
