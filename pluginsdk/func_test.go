package pluginsdk_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"reflect"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/pluginsdk"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

type noArgs = struct{}

// returning makes a tool that returns v.
func returning[Out any](v Out, err error) tool.Tool {
	return pluginsdk.Func("t", "Returns.", func(context.Context, noArgs) (Out, error) { return v, err })
}

func run(t *testing.T, tl tool.Tool, args string) (tool.Result, error) {
	t.Helper()
	return tl.Handler(t.Context(), tool.Call{Name: tl.Name, Arguments: json.RawMessage(args)})
}

type report struct {
	Text string         `json:"text"`
	N    map[string]int `json:"n,omitempty"`
}

func TestFuncOutputs(t *testing.T) {
	t.Parallel()
	result := tool.Result{
		Content:    []tool.Content{tool.ImageContent{Data: []byte{1}}},
		Structured: json.RawMessage(`1`),
		IsError:    true,
	}
	structured := func(s string) tool.Result {
		r := tool.Text(s)
		r.Structured = json.RawMessage(s)
		return r
	}
	for name, c := range map[string]struct {
		tool   tool.Tool
		want   tool.Result
		schema string // contained in the output schema; "": no schema
	}{
		"string":       {returning("a", nil), tool.Text("a"), ""},
		"result":       {returning(result, nil), result, ""},
		"empty struct": {returning(struct{}{}, nil), tool.Result{}, ""},
		"struct":       {returning(report{Text: "<a> & b"}, nil), structured(`{"text":"<a> & b"}`), `"type":"object"`},
		"pointer":      {returning(&report{N: map[string]int{"x": 1}}, nil), structured(`{"text":"","n":{"x":1}}`), `"type":"object"`},
		"bytes":        {returning([]byte("hi"), nil), structured(`"aGk="`), `"contentEncoding":"base64"`},
		"slice":        {returning([]int(nil), nil), structured(`null`), `["null","array"]`},
		"number":       {returning(1.5, nil), structured(`1.5`), `"number"`},
		"any, string":  {returning[any]("a", nil), tool.Text("a"), ""},
		"any, result":  {returning[any](result, nil), result, ""},
		"any, nil":     {returning[any](nil, nil), structured(`null`), ""},
		"any, struct":  {returning[any](report{}, nil), structured(`{"text":""}`), ""},
		"raw":          {returning(json.RawMessage(`{"a": 1}`), nil), structured(`{"a":1}`), ""},
		"method of a pointer": {
			returning(struct{ F big.Float }{*big.NewFloat(1.5)}, nil), structured(`{"F":"1.5"}`), `"F":true`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := run(t, c.tool, `{}`)
			if err != nil || !reflect.DeepEqual(got, c.want) {
				t.Errorf("%#v, %v, want %#v", got, err, c.want)
			}
			switch s := string(c.tool.OutputSchema); {
			case c.schema == "" && s != "", !strings.Contains(s, c.schema):
				t.Errorf("output schema %s, want ...%s...", s, c.schema)
			}
		})
	}
}

func TestFuncOutputNotJSON(t *testing.T) {
	t.Parallel()
	for name, tl := range map[string]tool.Tool{
		"nil pointer":      returning((*report)(nil), nil),
		"raw but not JSON": returning(json.RawMessage(`{`), nil),
		"not a number":     returning(map[string]any{"f": func() {}}, nil),
	} {
		if r, err := run(t, tl, ``); err == nil || !strings.HasPrefix(err.Error(), "encoding the result: ") {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
	}
}

func TestFuncErrors(t *testing.T) {
	t.Parallel()
	for name, err := range map[string]error{
		"plain":                    io.ErrUnexpectedEOF,
		"a sentinel of ours":       fmt.Errorf("looking: %w", tool.ErrNotFound),
		"another context's end":    context.Canceled,
		"another context's end, 2": fmt.Errorf("asking: %w", context.DeadlineExceeded),
	} {
		r, got := run(t, returning("lost", err), `{}`)
		want := tool.Failure("tool t execution failed: " + err.Error())
		if got != nil || !reflect.DeepEqual(r, want) {
			t.Errorf("%s: %+v, %v, want %+v", name, r, got, want)
		}
	}
	coded := &tool.Error{Code: tool.CodeRateLimited, Message: "slow down"}
	for _, err := range []error{coded, fmt.Errorf("asking: %w", coded)} {
		r, got := run(t, returning("lost", err), `{}`)
		if got != err || !reflect.DeepEqual(r, tool.Result{}) { //nolint:errorlint // the very same
			t.Errorf("%+v, %v, want the error unchanged", r, got)
		}
	}
}

func TestFuncAfterItsContext(t *testing.T) {
	t.Parallel()
	tl := pluginsdk.Func("t", "Waits.", func(ctx context.Context, _ noArgs) (string, error) {
		<-ctx.Done()
		return "", fmt.Errorf("waiting: %w", ctx.Err())
	})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := tl.Handler(ctx, tool.Call{}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want context.Canceled", err)
	}
	ctx, cancel = context.WithTimeout(t.Context(), 1)
	defer cancel()
	if _, err := tl.Handler(ctx, tool.Call{}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v, want context.DeadlineExceeded", err)
	}
}

func TestFuncArguments(t *testing.T) {
	t.Parallel()
	type args struct {
		Name string `json:"name" jsonschema:"Who."`
		Age  int    `json:"age,omitempty"`
	}
	tl := pluginsdk.Func("t", "Says.", func(_ context.Context, in args) (string, error) {
		return fmt.Sprintf("%s %d", in.Name, in.Age), nil
	})
	const schema = `{"type":"object","properties":{"name":{"type":"string","description":"Who."},"age":{"type":"integer"}},` +
		`"required":["name"],"additionalProperties":false}`
	assert.Equalf(t, string(tl.InputSchema), schema, "%s, want %s", tl.InputSchema, schema)
	for in, want := range map[string]string{`{"name":"Ann","age":7}`: "Ann 7", ``: " 0", `{}`: " 0"} {
		if r, err := run(t, tl, in); err != nil || r.Text() != want {
			t.Errorf("%s: %+v, %v, want %s", in, r, err, want)
		}
	}
	for _, in := range []string{`{`, `[]`, `{"name":1}`, `{"age":"x"}`, `{"age":1e99}`, `{} {}`} {
		_, err := run(t, tl, in)
		e := tool.AsError(err)
		if e == nil || e.Code != tool.CodeInvalidArguments || e.Tool != "t" ||
			!strings.HasPrefix(e.Message, "Invalid tool call: ") {
			t.Errorf("%s: %+v, want invalid arguments", in, e)
		}
	}
}

func TestFuncTakesAMap(t *testing.T) {
	t.Parallel()
	tl := pluginsdk.Func("t", "Counts.", func(_ context.Context, in map[string]int) (string, error) {
		return fmt.Sprint(len(in)), nil
	})
	if want := `{"type":"object","additionalProperties":{"type":"integer"}}`; string(tl.InputSchema) != want {
		t.Errorf("%s, want %s", tl.InputSchema, want)
	}
	if r, err := run(t, tl, `{"a":1,"b":2}`); err != nil || r.Text() != "2" {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestCallFrom(t *testing.T) {
	t.Parallel()
	var got tool.Call
	tl := pluginsdk.Func("t", "Looks.", func(ctx context.Context, _ noArgs) (string, error) {
		got = tool.CallFrom(ctx)
		return "", nil
	})
	want := tool.Call{ID: "1", Name: "t", Arguments: json.RawMessage(`{"x":1}`), Session: "s"}
	if _, err := tl.Handler(t.Context(), want); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v, want %+v", got, err, want)
	}
	if c := tool.CallFrom(t.Context()); !reflect.DeepEqual(c, tool.Call{}) {
		t.Errorf("outside a call: %+v", c)
	}
}

// wantPanic checks that f panics with a message that contains want.
func wantPanic(t *testing.T, want string, f func()) {
	t.Helper()
	defer func() {
		t.Helper()
		if got := fmt.Sprint(recover()); !strings.Contains(got, want) {
			t.Errorf("the panic is %q, want ...%q...", got, want)
		}
	}()
	f()
}

func TestFuncPanics(t *testing.T) {
	t.Parallel()
	wantPanic(t, `pluginsdk.Func("t"): field C: chan int has no form in JSON`, func() {
		pluginsdk.Func("t", "d", func(context.Context, struct{ C chan int }) (string, error) { return "", nil })
	})
	wantPanic(t, `pluginsdk.Func("t"): field F: func() has no form in JSON`, func() {
		returning(struct{ F func() }{}, nil)
	})
	wantPanic(t, `pluginsdk.Func("t"): the arguments must be a struct or a map, not string`, func() {
		pluginsdk.Func("t", "d", func(context.Context, string) (string, error) { return "", nil })
	})
	wantPanic(t, `pluginsdk.Func(""): tool name is empty`, func() {
		pluginsdk.Func("", "d", func(context.Context, noArgs) (string, error) { return "", nil })
	})
	wantPanic(t, `the description is missing`, func() {
		pluginsdk.Func("t", "", func(context.Context, noArgs) (string, error) { return "", nil })
	})
}
