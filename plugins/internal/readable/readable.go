// Package readable makes tools whose result is a value for programs and a text
// for everybody else. See [Func].
package readable

import (
	"context"

	"github.com/toolhost/toolhost/pluginsdk"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Texter is a result that says how it reads.
type Texter interface{ Text() string }

// Func is [pluginsdk.Func], but a model is shown the result's Text in place of
// its JSON, which stays beside it as the structured value.
func Func[In any, Out Texter](name, description string, fn func(context.Context, In) (Out, error), opts ...pluginsdk.Option) tool.Tool {
	t := pluginsdk.Func(name, description, func(ctx context.Context, in In) (Out, error) {
		out, err := fn(ctx, in)
		if text, ok := ctx.Value(key{}).(*string); ok && err == nil {
			*text = out.Text()
		}
		return out, err
	}, opts...)
	structured := t.Handler
	t.Handler = func(ctx context.Context, call tool.Call) (tool.Result, error) {
		var text string
		r, err := structured(context.WithValue(ctx, key{}, &text), call)
		if err == nil && !r.IsError {
			r.Content = tool.Text(text).Content
		}
		return r, err
	}
	return t
}

// key is where a call keeps its text.
type key struct{}
