package tool

import (
	"context"
	"fmt"
	"log/slog"
	"strings"

	"github.com/toolhost/toolhost/internal/callctx"
)

// Log writes a line to the host's log, together with the plugin's name and the call's ID.
// The args are alternating keys and values, as for [slog.Log]. Outside a plugin the line
// goes to [slog.Default].
func Log(ctx context.Context, level slog.Level, msg string, args ...any) {
	f, ok := ctx.Value(callctx.Log{}).(func(slog.Level, string))
	if !ok {
		slog.Default().Log(ctx, level, msg, args...)
		return
	}
	var line strings.Builder
	line.WriteString(msg)
	for i := 0; i < len(args); i += 2 {
		if i+1 == len(args) {
			fmt.Fprintf(&line, " %v", args[i])
			break
		}
		fmt.Fprintf(&line, " %v=%v", args[i], args[i+1])
	}
	f(level, line.String())
}
