package pluginsdk_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/toolhost/toolhost/pluginsdk"
	"github.com/toolhost/toolhost/pluginsdk/tool"
	"github.com/toolhost/toolhost/pluginsdk/tooltest"
)

type greeting struct {
	Name string `json:"name" jsonschema:"Who to greet."`
	Loud bool   `json:"loud,omitempty"`
}

func greet(_ context.Context, in greeting) (string, error) {
	if in.Name == "" {
		return "", errors.New("the name is empty")
	}
	if in.Loud {
		return "HELLO " + in.Name, nil
	}
	return "hello " + in.Name, nil
}

func ExampleFunc() {
	hello := pluginsdk.Func("hello", "Greets a person.", greet, pluginsdk.Safe())

	ctx := context.Background()
	result, err := hello.Handler(ctx, tool.Call{Name: "hello", Arguments: json.RawMessage(`{"name": "Ann"}`)})
	fmt.Println(result.Text(), err)

	// An error is the tool's own failure, which the caller's model should see.
	result, err = hello.Handler(ctx, tool.Call{Name: "hello", Arguments: json.RawMessage(`{"name": ""}`)})
	fmt.Println(result.Text(), result.IsError, err)

	fmt.Println(string(hello.InputSchema))
	// Output:
	// hello Ann <nil>
	// tool hello execution failed: the name is empty true <nil>
	// {"type":"object","properties":{"name":{"type":"string","description":"Who to greet."},"loud":{"type":"boolean"}},"required":["name"],"additionalProperties":false}
}

func ExampleFunc_structured() {
	type query struct {
		Words []string `json:"words"`
	}
	type answer struct {
		Count int    `json:"count"`
		First string `json:"first,omitempty"`
	}
	count := pluginsdk.Func("count", "Counts words.", func(_ context.Context, in query) (answer, error) {
		out := answer{Count: len(in.Words)}
		if len(in.Words) > 0 {
			out.First = in.Words[0]
		}
		return out, nil
	})

	ctx := context.Background()
	result, err := count.Handler(ctx, tool.Call{Name: "count", Arguments: json.RawMessage(`{"words": ["a", "b"]}`)})
	fmt.Println(string(result.Structured), err)
	fmt.Println(string(count.OutputSchema))
	// Output:
	// {"count":2,"first":"a"} <nil>
	// {"type":"object","properties":{"count":{"type":"integer"},"first":{"type":"string"}},"required":["count"],"additionalProperties":false}
}

func ExampleOption() {
	type args struct {
		URL   string `json:"url"`
		Token string `json:"token,omitempty"`
	}
	fetch := func(context.Context, args) (string, error) { return "", nil }

	t := pluginsdk.Func("web.fetch", "Fetches a page.", fetch,
		pluginsdk.Safe(),
		pluginsdk.Title("Fetch a page"),
		pluginsdk.Categories("web"),
		pluginsdk.Permission(tool.Net),
		pluginsdk.Idempotent(2),
		pluginsdk.Timeout(30*time.Second),
		pluginsdk.RateLimit(10, time.Minute),
		pluginsdk.Sensitive("token"),
	)
	fmt.Println(t.Title, t.Safety, t.Permission, t.MaxRetries, t.RateLimit.Calls)
	// Output: Fetch a page safe net 2 10
}

func ExampleArgument() {
	type args struct {
		Lines int `json:"lines"`
	}
	tail := func(context.Context, args) (string, error) { return "", nil }

	t := pluginsdk.Func("tail", "Shows the last lines.", tail,
		pluginsdk.Argument("lines", `{"minimum": 1, "maximum": 100}`),
	)
	fmt.Println(string(t.InputSchema))
	// Output: {"type":"object","properties":{"lines":{"type":"integer","minimum":1,"maximum":100}},"required":["lines"],"additionalProperties":false}
}

func ExamplePreview() {
	type args struct {
		From string `json:"from"`
		To   string `json:"to"`
	}
	move := func(context.Context, args) (string, error) { return "moved", nil }

	t := pluginsdk.Func("move", "Moves a file.", move,
		pluginsdk.Cautious(),
		pluginsdk.Permission(tool.FSWrite),
		pluginsdk.Preview(func(_ context.Context, in args) (tool.Result, error) {
			return tool.Text(in.From + " -> " + in.To), nil
		}),
	)

	// A host shows the preview to the person who approves the call.
	call := tool.Call{Name: "move", Arguments: json.RawMessage(`{"from": "a.txt", "to": "b.txt"}`)}
	preview, err := t.Preview(context.Background(), call)
	fmt.Println(preview.Text(), err)
	// Output: a.txt -> b.txt <nil>
}

// A tool that changes files checks each path first.
func ExampleConfig_CheckWrite() {
	config := pluginsdk.Config{Root: "/srv/project", Protected: []string{"/srv/project/toolhost.yaml"}}

	err := config.CheckWrite("toolhost.yaml")
	fmt.Println(tool.CodeOf(err))
	fmt.Println(config.CheckWrite("notes.txt"))
	// Output:
	// permission_denied
	// <nil>
}

// What a function learns of the call that it serves: the session, the trace and the deadline.
func ExampleFunc_call() {
	whoami := pluginsdk.Func("whoami", "Returns the session.", func(ctx context.Context, _ struct{}) (string, error) {
		_, limited := ctx.Deadline()
		return fmt.Sprint(tool.CallFrom(ctx).Session, " ", tool.TraceFrom(ctx).Parent == "", " ", limited), nil
	})
	// A host makes such a context for each call.
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	result, err := whoami.Handler(ctx, tool.Call{Name: "whoami", Session: "s1"})
	fmt.Println(result.Text(), err)
	// Output: s1 true true <nil>
}

// A plugin takes its configuration as a Go type. A test hands one over with Configure.
func ExampleConfiguration() {
	type settings struct {
		Region string        `json:"region" enum:"eu,us" default:"eu"`
		Wait   tool.Duration `json:"wait" default:"10s"`
		Token  string        `json:"token,omitempty" sensitive:"true"`
	}
	p := pluginsdk.Plugin{
		Name: "weather",
		Configuration: pluginsdk.Configuration(func(_ context.Context, _ pluginsdk.Config, s settings) error {
			fmt.Println(s.Region, time.Duration(s.Wait))
			return nil
		}),
	}
	ctx := context.Background()
	fmt.Println(p.Configuration.Configure(ctx, pluginsdk.Config{JSON: json.RawMessage(`{"wait": "1m"}`)}))
	fmt.Println(p.Configuration.Configure(ctx, pluginsdk.Config{JSON: json.RawMessage(`{"wait": "soon"}`)}))
	fmt.Println(string(p.Configuration.Schema()))
	// Output:
	// eu 1m0s
	// <nil>
	// the configuration does not fit: invalid value for wait: time: invalid duration "soon"
	// {"type":"object","properties":{"region":{"type":"string","default":"eu","enum":["eu","us"]},"wait":{"type":"string","default":"10s"},"token":{"type":"string","writeOnly":true}},"additionalProperties":false}
}

// The main function of a plugin needs only one call. A plugin that is started by hand
// prints how to run it with a host, and exits.
func ExampleMain() { //nolint:testableexamples // it ends the process
	pluginsdk.Main(pluginsdk.Func("hello", "Greets a person.", greet, pluginsdk.Safe()))
}

// A plugin with configuration. Its main function calls [pluginsdk.Plugin.Main].
func ExamplePlugin() {
	type settings struct {
		Word string `json:"word" default:"hello"`
	}
	var word string
	p := pluginsdk.Plugin{
		Name:    "greeter",
		Version: "1.2.0",
		Tools: []tool.Tool{
			pluginsdk.Func("greet", "Greets a person.", func(_ context.Context, in greeting) (string, error) {
				return word + " " + in.Name, nil
			}, pluginsdk.Safe()),
		},
		Configuration: pluginsdk.Configuration(func(_ context.Context, _ pluginsdk.Config, s settings) error {
			word = s.Word
			return nil
		}),
	}

	// A host makes these calls:
	ctx := context.Background()
	config := pluginsdk.Config{Root: "/srv/project", JSON: json.RawMessage(`{"word": "good morning,"}`)}
	if err := p.Configuration.Configure(ctx, config); err != nil {
		fmt.Println(err)
		return
	}
	result, err := tooltest.Call(ctx, p.Tools[0], `{"name": "Ann"}`)
	fmt.Println(result.Text(), err)
	// Output: good morning, Ann <nil>
}

// A plugin that says what its process needs, so that an operator can let it have that and
// nothing else.
func ExamplePlugin_needs() {
	p := pluginsdk.Plugin{
		Name: "weather",
		Tools: []tool.Tool{
			pluginsdk.Func("weather", "Returns the weather of today.", greet, pluginsdk.Safe(), pluginsdk.Permission(tool.Net)),
		},
		Needs: &tool.Needs{
			Write: []string{tool.Cache}, Net: []string{"api.example.com:443"}, Memory: 128 << 20,
		},
	}
	fmt.Println(p.Needs)
	// Output: write cache; net api.example.com:443; memory 128 MiB
}

// Tags say what an argument takes, and what the function sees if it is absent.
func ExampleFunc_tags() {
	type query struct {
		Path  string `json:"path" jsonschema:"the directory" pattern:"^[^/]"`
		Sort  string `json:"sort" enum:"name,size" default:"name"`
		Limit int    `json:"limit" minimum:"1" maximum:"500" default:"20"`
	}
	list := pluginsdk.Func("list", "Lists files.", func(_ context.Context, in query) (string, error) {
		return fmt.Sprintf("%d of %s by %s", in.Limit, in.Path, in.Sort), nil
	}, pluginsdk.Safe())

	result, err := tooltest.Call(context.Background(), list, `{"path": "src"}`)
	fmt.Println(result.Text(), err)
	_, err = tooltest.Call(context.Background(), list, `{"path": "src", "sort": "date"}`)
	fmt.Println(err)
	// Output:
	// 20 of src by name <nil>
	// Invalid tool call: invalid value for sort: "date" is not one of "name", "size"
}
