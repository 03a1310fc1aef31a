package pluginsdk

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/toolhost/toolhost/internal/form"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Ask puts a question to whoever made the call that ctx belongs to, and waits for the answer:
// a person at a terminal, at an MCP client or at the program that embeds the host.
//
// T is a struct whose fields are the form to fill in. They are strings, numbers, booleans, or
// lists of strings with an enum; the tags are those of [Func], and [Argument] adds keywords:
//
//	type order struct {
//		Size string `json:"size" jsonschema:"how large" enum:"s,m,l" default:"m"`
//		Gift bool   `json:"gift,omitempty"`
//	}
//	o, action, err := pluginsdk.Ask[order](ctx, "Which one?")
//
// An empty struct asks for a yes or a no. Options other than Argument have no effect.
//
// The action is [tool.Accept] with what was filled in, [tool.Decline] if the person said no, or
// [tool.Cancel] if the person went away; then the form is the zero T. The time limit of the
// call stands still while a question is open.
//
// # Errors
//
// [tool.CodeInvalidArguments] if T is not such a struct or the message is longer than 8 KiB;
// [tool.CodeUnsupported] if questions cannot be answered; [tool.CodeResourceExhausted] if the call has
// asked too often; [tool.CodeDeadlineExceeded] if no answer came in time;
// [tool.CodeInvalidResult] if the answer does not fit the form.
func Ask[T any](ctx context.Context, message string, opts ...Option) (T, tool.Action, error) {
	var zero T
	schema, d, err := formOf(reflect.TypeFor[T](), opts)
	if err != nil {
		return zero, "", tool.Errorf(tool.CodeInvalidArguments, "pluginsdk.Ask[%s]: %w", reflect.TypeFor[T](), err)
	}
	q := tool.Question{Message: message}
	if len(schema.Properties) > 0 {
		if q.Schema, err = json.Marshal(schema); err != nil {
			return zero, "", tool.Errorf(tool.CodeInvalidArguments, "pluginsdk.Ask[%s]: %w", reflect.TypeFor[T](), err)
		}
	}
	if err := form.Check(q.Message, q.Schema); err != nil {
		return zero, "", tool.Errorf(tool.CodeInvalidArguments, "pluginsdk.Ask[%s]: %w", reflect.TypeFor[T](), err)
	}
	answer, err := tool.Ask(ctx, q)
	switch {
	case err != nil:
		return zero, "", err
	case answer.Action == tool.Decline:
		return zero, tool.Decline, nil
	case answer.Action != tool.Accept:
		return zero, tool.Cancel, nil
	case q.Schema == nil:
		return zero, tool.Accept, nil
	}
	filled, err := fill[T](schema, d, answer.Content)
	if err != nil {
		return zero, "", tool.Errorf(tool.CodeInvalidResult, "the answer does not fit the form: %w", err)
	}
	return filled, tool.Accept, nil
}

// formOf returns the schema of a form, and what fills in the fields that were left out.
func formOf(t reflect.Type, opts []Option) (*jsonschema.Schema, defaults, error) {
	if t.Kind() != reflect.Struct {
		return nil, defaults{}, fmt.Errorf("a form must be a struct, not %s", t)
	}
	s, err := inferInput(t)
	if err != nil {
		return nil, defaults{}, err
	}
	for _, field := range s.Properties { // the library allows null for slices, and forms do not
		if len(field.Types) == 2 && field.Types[0] == "null" {
			field.Type, field.Types = field.Types[1], nil
		}
	}
	b := &builder{Definition: new(tool.Definition), in: t, input: s, defaults: new(defaults)}
	for _, opt := range opts {
		if err := opt(b); err != nil {
			return nil, defaults{}, err
		}
	}
	d, err := setDefaults(s)
	return s, d, err
}

// fill decodes a form that was filled in.
func fill[T any](s *jsonschema.Schema, d defaults, content json.RawMessage) (T, error) {
	var out T
	var value any
	if err := json.Unmarshal(content, &value); err != nil {
		return out, err
	}
	resolved, err := s.Resolve(nil)
	if err != nil {
		return out, err
	}
	if err := resolved.Validate(value); err != nil {
		return out, err
	}
	return decode[T]("", d.fill(content))
}
