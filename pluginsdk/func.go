package pluginsdk

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"unsafe"

	"github.com/toolhost/toolhost/internal/callctx"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Func makes a tool from a function.
//
// In is a struct whose fields are the arguments: json tags name them, jsonschema tags
// describe them, and fields with omitempty, omitzero or a default are optional. An empty struct
// means no arguments. In may also be a map from argument names to values. Integers may be
// written as 3.0 or 1e2, and bytes are base64. These tags constrain a field:
//
//	enum:"name,size"              one of these; as JSON if a value has a comma: ["a,b","c"]
//	default:"10"                  what fn sees if the argument is absent
//	minimum:"1" maximum:"500"     of numbers
//	minLength:"1" maxLength:"80"  of texts, in characters
//	pattern:"^[a-z]+$"            of texts, a regular expression
//	format:"email"                of texts, as JSON Schema names formats
//	minItems:"1" maxItems:"9"     of lists
//	example:"size"                shown to the model
//	sensitive:"true"              not shown in logs, see [Sensitive]
//
// Values are those of the field's type: texts as they stand, lists between commas or as JSON,
// all else as JSON. The tags for numbers and texts hold for each element of a list or map.
// [Argument] adds what has no tag. Defaults are filled in also in structs below, in lists and in
// maps, but not in [tool.CallFrom]; a struct that is absent is filled in if its fields are all optional.
//
// Out determines the result:
//
//   - a string becomes text
//   - a [tool.Result] is returned unchanged
//   - an empty struct becomes a result without content
//   - any other type becomes structured output, which a model sees as JSON; the output
//     schema is inferred from the type, and a nil pointer is an error
//
// The tool is dangerous unless an [Option] sets another safety level.
//
// Func panics if JSON Schema cannot describe In or Out, if the definition is invalid
// (see [tool.Definition.Check]), or if an option or a tag does not fit, such as a default that is
// not in its enum: these are mistakes in the program, and appear as soon as it starts.
//
// # Errors
//
// If fn returns an error, the call succeeds with a result that has IsError, and the
// caller's model sees "tool NAME execution failed: ...". An error that wraps a
// [*tool.Error] fails the call with that error's code instead, and so does the error of
// a context that has ended, and that of writing a file that exceeds the sandbox's limit
// ([tool.CodeResourceExhausted]). Arguments that fit the schema but not In, such as
// 9223372036854775808 for an int or malformed base64 for a []byte, fail the call with
// [tool.CodeInvalidArguments] and the path to the value. A value of Out that cannot be encoded fails it with
// [tool.CodeToolFailed].
func Func[In, Out any](name, description string, fn func(context.Context, In) (Out, error), opts ...Option) tool.Tool {
	t, d, err := define[In, Out](name, description, opts)
	if err != nil {
		panic(fmt.Sprintf("pluginsdk.Func(%q): %v", name, err))
	}
	t.Handler = handler(name, d, fn)
	return t
}

// handler returns fn as a handler that fills in and decodes arguments and encodes results.
func handler[In, Out any](name string, d *defaults, fn func(context.Context, In) (Out, error)) tool.Handler {
	type plain struct {
		known  fields
		absent In // what fn sees if nothing is passed
	}
	of := sync.OnceValue(func() (p plain) { // by the first call, as a preview's handler is made before all defaults are known
		var all bool
		p.known, all = fieldsOf(reflect.TypeFor[In]())
		if d.root != nil {
			var err error
			if p.absent, err = unmarshal[In](d.fill(nil)); err != nil || !all { // others may share what they point to
				p.known = nil
			}
		}
		return p
	})
	return func(ctx context.Context, call tool.Call) (tool.Result, error) {
		p := of()
		in, err := p.absent, error(nil)
		if !p.known.decode(call.Arguments, reflect.ValueOf(&in).Elem()) {
			in, err = decode[In](name, d.fill(call.Arguments))
		}
		if err != nil {
			return tool.Result{}, err
		}
		out, err := fn(withCall(ctx, call), in)
		if err != nil {
			return failure(ctx, name, err)
		}
		return result(out)
	}
}

// define builds a tool without its handler from the types and the options.
func define[In, Out any](name, description string, opts []Option) (tool.Tool, *defaults, error) {
	def := tool.Definition{Name: name, Description: description}
	b := &builder{Definition: &def, in: reflect.TypeFor[In](), defaults: new(defaults)}
	var err error
	if b.input, err = inferInput(b.in); err != nil {
		return tool.Tool{}, nil, err
	}
	if b.output, err = inferOutput(reflect.TypeFor[Out]()); err != nil {
		return tool.Tool{}, nil, err
	}
	for _, opt := range opts {
		if err := opt(b); err != nil {
			return tool.Tool{}, nil, err
		}
	}
	for _, name := range takeSensitive(b.input) {
		if !slices.Contains(def.Sensitive, name) {
			def.Sensitive = append(def.Sensitive, name)
		}
	}
	if *b.defaults, err = setDefaults(b.input); err != nil {
		return tool.Tool{}, nil, err
	}
	if def.InputSchema, err = json.Marshal(b.input); err != nil {
		return tool.Tool{}, nil, err
	}
	if b.output != nil {
		if def.OutputSchema, err = json.Marshal(b.output); err != nil {
			return tool.Tool{}, nil, err
		}
	}
	return tool.Tool{Definition: def, Preview: b.preview}, b.defaults, def.Check()
}

// failure separates the errors that fail the call from those that are the tool's result.
func failure(ctx context.Context, name string, err error) (tool.Result, error) {
	var e *tool.Error
	if errors.As(err, &e) || ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return tool.Result{}, err
	}
	if e := overLimit(err); e != nil {
		return tool.Result{}, e
	}
	return tool.Failure(tool.ExecutionError(name, err).Message), nil
}

// result encodes the value that a typed function returned.
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
		return tool.Result{}, fmt.Errorf("encoding the result: the function returned a nil %T without an error", out)
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false) // models read this, and much of it is code
	// A pointer, so that encoding/json finds methods with pointer receivers.
	if err := enc.Encode(&out); err != nil {
		return tool.Result{}, fmt.Errorf("encoding the result: %w", err)
	}
	doc := bytes.TrimSuffix(b.Bytes(), []byte("\n"))
	r := tool.Text(string(doc))
	r.Structured = doc
	return r, nil
}

// withCall returns a context in which [tool.CallFrom] finds the call. It returns ctx itself
// if it has the call already.
func withCall(ctx context.Context, call tool.Call) context.Context {
	if there, ok := ctx.Value(callctx.Call{}).(*tool.Call); ok && same(there, &call) {
		return ctx
	}
	return context.WithValue(ctx, callctx.Call{}, &call)
}

func same(a, b *tool.Call) bool {
	return a.ID == b.ID && a.Name == b.Name && a.Session == b.Session && a.Caller == b.Caller &&
		a.IdempotencyKey == b.IdempotencyKey && len(a.Arguments) == len(b.Arguments) &&
		unsafe.SliceData(a.Arguments) == unsafe.SliceData(b.Arguments)
}
