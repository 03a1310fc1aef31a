package pluginsdk_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/toolhost/toolhost/pluginsdk"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

type meal struct {
	Dish   string   `json:"dish" jsonschema:"what to eat"`
	Guests int      `json:"guests,omitempty"`
	Extras []string `json:"extras,omitempty"`
}

var mealOptions = []pluginsdk.Option{
	pluginsdk.Argument("dish", `{"enum":["soup","stew"]}`), pluginsdk.Argument("extras", `{"items":{"type":"string","enum":["salt","bread"]}}`),
}

func answering(a tool.Action, content string) context.Context {
	return tool.WithAsker(context.Background(), func(context.Context, tool.Question) (tool.Answer, error) {
		return tool.Answer{Action: a, Content: []byte(content)}, nil
	})
}

// A tool asks its caller with a form, and without one.
func ExampleAsk() {
	ctx := tool.WithAsker(context.Background(), func(_ context.Context, q tool.Question) (tool.Answer, error) {
		fmt.Println(q.Message + string(q.Schema))
		return tool.Answer{Action: tool.Accept, Content: []byte(`{"size":"m"}`)}, nil
	})
	type order struct {
		Size string `json:"size" jsonschema:"how large"`
	}
	o, action, err := pluginsdk.Ask[order](ctx, "Which one?", pluginsdk.Argument("size", `{"enum":["s","m"]}`))
	fmt.Println(o.Size, action, err)
	_, action, err = pluginsdk.Ask[struct{}](ctx, "Are you sure?")
	fmt.Println(action, err)
	// Output:
	// Which one?{"type":"object","properties":{"size":{"type":"string","description":"how large","enum":["s","m"]}},"required":["size"],"additionalProperties":false}
	// m accept <nil>
	// Are you sure?
	// accept <nil>
}

func TestAsk(t *testing.T) {
	t.Parallel()
	for content, want := range map[string]struct {
		meal string
		code tool.Code
	}{
		`{"dish":"soup"}`: {"{soup 0 []}", ""},
		`{"dish":"stew","guests":2.0,"extras":["salt"]}`: {"{stew 2 [salt]}", ""},
		`{"dish":"stew","guests":9007199254740993}`:      {"{stew 9007199254740993 []}", ""},
		`{"dish":"cake"}`:                {"{ 0 []}", tool.CodeInvalidResult},
		`{}`:                             {"{ 0 []}", tool.CodeInvalidResult},
		`{"dish":"soup","guests":"two"}`: {"{ 0 []}", tool.CodeInvalidResult},
		`{"dish":"soup","guests":123456789012345678901234567}`: {"{ 0 []}", tool.CodeInvalidResult},
		`{"dish":"soup","extras":["gold"]}`:                    {"{ 0 []}", tool.CodeInvalidResult},
		`{"dish":"soup","more":1}`:                             {"{ 0 []}", tool.CodeInvalidResult},
		``:                                                     {"{ 0 []}", tool.CodeInvalidResult},
	} {
		got, action, err := pluginsdk.Ask[meal](answering(tool.Accept, content), "What?", mealOptions...)
		if fmt.Sprint(got) != want.meal || tool.CodeOf(err) != want.code || (err == nil) != (action == tool.Accept) {
			t.Errorf("%s: got %v, %q, %v", content, got, action, err)
		}
	}
	for in, want := range map[tool.Action]tool.Action{
		tool.Decline: tool.Decline, tool.Cancel: tool.Cancel, "": tool.Cancel, "perhaps": tool.Cancel,
	} {
		if got, action, err := pluginsdk.Ask[meal](answering(in, `{"dish":"soup"}`), "What?", mealOptions...); got.Dish != "" || action != want || err != nil {
			t.Errorf("%q: got %v, %q, %v", in, got, action, err)
		}
	}
	if _, _, err := pluginsdk.Ask[meal](context.Background(), "What?", mealOptions...); tool.CodeOf(err) != tool.CodeUnsupported {
		t.Errorf("without an asker: %v", err)
	}
}

// A type that is not a form is an error before anything is asked.
func TestAskForms(t *testing.T) {
	t.Parallel()
	ctx := tool.WithAsker(context.Background(), func(context.Context, tool.Question) (tool.Answer, error) {
		t.Error("it is asked")
		return tool.Answer{}, nil
	})
	asks := map[string]func() error{
		"nested": func() error { _, _, err := pluginsdk.Ask[struct{ In struct{ A int } }](ctx, "?"); return err },
		"a map":  func() error { _, _, err := pluginsdk.Ask[map[string]string](ctx, "?"); return err },
		"text":   func() error { _, _, err := pluginsdk.Ask[string](ctx, "?"); return err },
		"a list": func() error { _, _, err := pluginsdk.Ask[struct{ A []string }](ctx, "?"); return err },
		"any":    func() error { _, _, err := pluginsdk.Ask[struct{ A any }](ctx, "?"); return err },
		"silent": func() error { _, _, err := pluginsdk.Ask[struct{}](ctx, ""); return err },
		"a name": func() error {
			_, _, err := pluginsdk.Ask[meal](ctx, "?", pluginsdk.Argument("nope", `{}`))
			return err
		},
	}
	for name, ask := range asks {
		if err := ask(); tool.CodeOf(err) != tool.CodeInvalidArguments {
			t.Errorf("%s: %v", name, err)
		}
	}
}
