package pluginsdk_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/toolhost/toolhost/pluginsdk"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

type greeting struct {
	Name string `json:"name" jsonschema:"Who to greet."`
	Loud bool   `json:"loud,omitempty"`
}

func greet(_ context.Context, in greeting) (string, error) {
	if in.Name == "" {
		return "", errors.New("there is nobody to greet")
	}
	if in.Loud {
		return "HELLO " + in.Name, nil
	}
	return "hello " + in.Name, nil
}

func ExampleFunc() {
	hello := pluginsdk.Func("hello", "Greets somebody.", greet, pluginsdk.Safe())

	ctx := context.Background()
	result, err := hello.Handler(ctx, tool.Call{Name: "hello", Arguments: json.RawMessage(`{"name": "Ann"}`)})
	fmt.Println(result.Text(), err)

	// An error is the tool's own failure, which a model should see.
	result, err = hello.Handler(ctx, tool.Call{Name: "hello", Arguments: json.RawMessage(`{"name": ""}`)})
	fmt.Println(result.Text(), result.IsError, err)

	fmt.Println(string(hello.InputSchema))
	// Output:
	// hello Ann <nil>
	// tool hello execution failed: there is nobody to greet true <nil>
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

	result, err := count.Handler(context.Background(), tool.Call{Name: "count", Arguments: json.RawMessage(`{"words": ["a", "b"]}`)})
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

	t := pluginsdk.Func("tail", "Shows the last lines.", tail, pluginsdk.Argument("lines", `{"minimum": 1, "maximum": 100}`))
	fmt.Println(string(t.InputSchema))
	// Output: {"type":"object","properties":{"lines":{"type":"integer","minimum":1,"maximum":100}},"required":["lines"],"additionalProperties":false}
}

func ExampleCallFrom() {
	whoami := pluginsdk.Func("whoami", "Names the session.", func(ctx context.Context, _ struct{}) (string, error) {
		return pluginsdk.CallFrom(ctx).Session, nil
	})
	result, err := whoami.Handler(context.Background(), tool.Call{Name: "whoami", Session: "s1"})
	fmt.Println(result.Text(), err)
	// Output: s1 <nil>
}

// A plugin's main function has nothing in it but this. Started by hand, it says
// that a host should start it.
func ExampleMain() { //nolint:testableexamples // it ends the process
	pluginsdk.Main(pluginsdk.Func("hello", "Greets somebody.", greet, pluginsdk.Safe()))
}

// A plugin that is configured. Its main function calls [pluginsdk.Plugin.Main].
func ExamplePlugin() {
	word := "hello"
	p := pluginsdk.Plugin{
		Name:    "greeter",
		Version: "1.2.0",
		Tools: []tool.Tool{
			pluginsdk.Func("greet", "Greets somebody.", func(_ context.Context, in greeting) (string, error) {
				return word + " " + in.Name, nil
			}, pluginsdk.Safe()),
		},
		ConfigSchema: tool.Schema(`{"type": "object", "properties": {"word": {"type": "string"}}}`),
		Configure: func(_ context.Context, c pluginsdk.Config) error {
			var settings struct{ Word string }
			if len(c.JSON) == 0 {
				return nil
			}
			if err := json.Unmarshal(c.JSON, &settings); err != nil {
				return err
			}
			word = settings.Word
			return nil
		},
	}

	// What a host does, in short:
	ctx := context.Background()
	if err := p.Configure(ctx, pluginsdk.Config{Root: "/srv/project", JSON: json.RawMessage(`{"word": "good morning,"}`)}); err != nil {
		fmt.Println(err)
		return
	}
	set, err := tool.NewSet(p.Tools...)
	if err != nil {
		fmt.Println(err)
		return
	}
	result, err := set.Execute(ctx, tool.Call{Name: "greet", Arguments: json.RawMessage(`{"name": "Ann"}`)})
	fmt.Println(result.Text(), err)
	// Output: good morning, Ann <nil>
}
