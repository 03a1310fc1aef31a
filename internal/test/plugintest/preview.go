package plugintest

import (
	"context"
	"fmt"
	"strings"

	"github.com/toolhost/toolhost/pluginsdk"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// previewTools are dangerous tools: one with an honest preview, one with none, and
// some whose previews fail.
func previewTools() []tool.Tool {
	type in struct {
		Text string `json:"text"`
	}
	written := 0
	write := func(context.Context, in) (string, error) {
		written++
		return fmt.Sprintf("has written %d", written), nil
	}
	nothing := func(context.Context, none) (string, error) { return "done", nil }
	return []tool.Tool{
		pluginsdk.Func("preview.write", "Counts its calls.", write, pluginsdk.Preview(func(_ context.Context, w in) (tool.Result, error) {
			return tool.Text(fmt.Sprintf("would write %s, has written %d", w.Text, written)), nil
		})),
		pluginsdk.Func("preview.none", "Has no preview.", nothing),
		pluginsdk.Func("preview.panic", "Has a preview that panics.", nothing, pluginsdk.Preview(func(context.Context, none) (tool.Result, error) {
			panic("in the preview")
		})),
		pluginsdk.Func("preview.huge", "Has a preview of 8 MiB.", nothing, pluginsdk.Preview(func(context.Context, none) (tool.Result, error) {
			return tool.Text(strings.Repeat("x", 8<<20)), nil
		})),
	}
}
