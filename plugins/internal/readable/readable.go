// Package readable makes tools whose result is a value for programs and a text
// for everyone else. See [Func].
package readable

import (
	"context"

	"github.com/toolhost/toolhost/pluginsdk"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Texter is a result with a text for readers.
type Texter interface{ Text() string }

// Failer is a result that may be the tool's own failure.
type Failer interface{ Failed() bool }

// Func is [pluginsdk.Func], except that a model gets the result's Text instead of
// its JSON, which remains the structured value. A result that is a [Failer] and
// has failed is the tool's own failure.
func Func[In any, Out Texter](
	name, description string, fn func(context.Context, In) (Out, error), opts ...pluginsdk.Option,
) tool.Tool {
	t := pluginsdk.Func(name, description, func(ctx context.Context, in In) (Out, error) {
		out, err := fn(ctx, in)
		if result, ok := ctx.Value(key{}).(*result); ok && err == nil {
			result.text = out.Text()
			f, ok := any(out).(Failer)
			result.failed = ok && f.Failed()
		}
		return out, err
	}, opts...)
	structured := t.Handler
	t.Handler = func(ctx context.Context, call tool.Call) (tool.Result, error) {
		var result result
		r, err := structured(context.WithValue(ctx, key{}, &result), call)
		if err != nil || r.IsError {
			return r, err
		}
		if result.failed {
			result.text, r.IsError = "tool "+call.Name+" execution failed: "+result.text, true
		}
		r.Content = tool.Text(result.text).Content
		return r, nil
	}
	return t
}

// result is what a handler keeps of its function's result, in the context under key.
type result struct {
	text   string
	failed bool
}

type key struct{}
