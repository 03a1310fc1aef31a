package pluginsdk

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Func makes a tool from a function. In is a struct whose fields are the arguments:
// json tags name them, jsonschema tags describe them, and fields with omitempty or
// omitzero are optional. An empty struct means no arguments.
//
// The type of Out decides the result. A string becomes text, a [tool.Result] is
// returned as it is, an empty struct becomes a result without content, and any other
// type becomes structured output with its own schema, which a model sees as JSON. A nil
// pointer is an error.
//
// The safety level is dangerous unless an [Option] sets another.
//
// If fn returns an error, the tool has failed and the caller's model sees "tool NAME
// execution failed: ...". A [*tool.Error] is returned as an error with its code instead.
//
// Func panics if JSON Schema cannot describe In or Out, or if an option does not fit:
// these are mistakes in the program, found when it starts.
func Func[In, Out any](name, description string, fn func(context.Context, In) (Out, error), opts ...Option) tool.Tool {
	t, err := define[In, Out](name, description, opts)
	if err != nil {
		panic(fmt.Sprintf("pluginsdk.Func(%q): %v", name, err))
	}
	t.Handler = handler(name, fn)
	return t
}

// handler is a typed function as it is called.
func handler[In, Out any](name string, fn func(context.Context, In) (Out, error)) tool.Handler {
	return func(ctx context.Context, call tool.Call) (tool.Result, error) {
		var in In
		if len(call.Arguments) > 0 {
			if err := json.Unmarshal(call.Arguments, &in); err != nil {
				return tool.Result{}, &tool.Error{
					Code: tool.CodeInvalidArguments, Tool: name, Stage: tool.StageExecute,
					Message: "Invalid tool call: " + err.Error(), Err: err,
				}
			}
		}
		out, err := fn(tool.WithCall(ctx, call), in)
		if err != nil {
			return failure(ctx, name, err)
		}
		return result(out)
	}
}

// define builds a definition, and a preview where there is one, from the types and
// the options.
func define[In, Out any](name, description string, opts []Option) (tool.Tool, error) {
	def := tool.Definition{Name: name, Description: description}
	draft := &draft{Definition: &def, in: reflect.TypeFor[In]()}
	var err error
	if draft.input, err = inferInput(draft.in); err != nil {
		return tool.Tool{}, err
	}
	if draft.output, err = inferOutput(reflect.TypeFor[Out]()); err != nil {
		return tool.Tool{}, err
	}
	for _, opt := range opts {
		if err := opt(draft); err != nil {
			return tool.Tool{}, err
		}
	}
	if def.InputSchema, err = json.Marshal(draft.input); err != nil {
		return tool.Tool{}, err
	}
	if draft.output != nil {
		if def.OutputSchema, err = json.Marshal(draft.output); err != nil {
			return tool.Tool{}, err
		}
	}
	return tool.Tool{Definition: def, Preview: draft.preview}, def.Check()
}

// failure sorts the errors of a typed function.
func failure(ctx context.Context, name string, err error) (tool.Result, error) {
	var e *tool.Error
	if errors.As(err, &e) || ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return tool.Result{}, err
	}
	return tool.Failure(tool.ExecutionError(name, err).Message), nil
}

// result makes a Result of what a typed function returned.
func result[Out any](out Out) (tool.Result, error) {
	switch v := any(out).(type) {
	case tool.Result:
		return v, nil
	case string:
		return tool.Text(v), nil
	case struct{}:
		return tool.Result{}, nil
	}
	if v := reflect.ValueOf(out); v.Kind() == reflect.Pointer && v.IsNil() {
		return tool.Result{}, fmt.Errorf("encoding the result: it is a nil %T, with no error beside it", out)
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false) // models read this, and much of it is code
	// Through a pointer the methods of pointers are found.
	if err := enc.Encode(&out); err != nil {
		return tool.Result{}, fmt.Errorf("encoding the result: %w", err)
	}
	doc := bytes.TrimSuffix(b.Bytes(), []byte("\n"))
	r := tool.Text(string(doc))
	r.Structured = doc
	return r, nil
}

// CallFrom returns the call that a typed function is running: its ID, its tool's name,
// its raw arguments and its session. Outside of a call it returns the zero Call.
func CallFrom(ctx context.Context) tool.Call { return tool.CallFrom(ctx) }
