package tool

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
)

type logKey struct{}

// WithLog lets f take what [Log] says in the calls that the context is given to.
func WithLog(ctx context.Context, f func(slog.Level, string)) context.Context {
	return context.WithValue(ctx, logKey{}, f)
}

// Log writes a line to the host's log, under the plugin's name and the call's ID.
// Args are keys and values in turn, as those of [slog.Log]. Where nobody takes
// the line, [slog.Default] does.
func Log(ctx context.Context, level slog.Level, msg string, args ...any) {
	f, ok := ctx.Value(logKey{}).(func(slog.Level, string))
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
