package plugintest

import (
	"context"
	"fmt"

	"github.com/toolhost/toolhost/pluginsdk"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Order is the form of the tool of [Asking].
type Order struct {
	Size  string `json:"size" jsonschema:"how large"`
	Count int    `json:"count"`
	Gift  bool   `json:"gift,omitempty"`
}

// askTools ask the caller with a form, and for a yes.
func askTools() []tool.Tool {
	return []tool.Tool{
		pluginsdk.Func("ask.order", "Asks what to order.", func(ctx context.Context, _ none) (string, error) {
			o, action, err := pluginsdk.Ask[Order](ctx, "Which one?",
				pluginsdk.Argument("size", `{"enum":["s","m","l"],"default":"m"}`), pluginsdk.Argument("count", `{"minimum":1}`))
			if err != nil || action != tool.Accept {
				return string(action), err
			}
			return fmt.Sprintf("%s: %d of %s, gift %v", action, o.Count, o.Size, o.Gift), nil
		}, pluginsdk.Safe()),
		pluginsdk.Func("ask.sure", "Asks for a yes.", func(ctx context.Context, _ none) (string, error) {
			_, action, err := pluginsdk.Ask[none](ctx, "Are you sure?")
			return string(action), err
		}, pluginsdk.Safe()),
	}
}
