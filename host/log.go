package host

import (
	"context"
	"io"
	"log/slog"
	"time"

	"github.com/hashicorp/go-hclog"
)

// logTo returns a logger whose messages go to a handler of log/slog.
func logTo(h slog.Handler) hclog.Logger {
	if h == nil {
		return hclog.NewNullLogger()
	}
	out := hclog.NewInterceptLogger(&hclog.LoggerOptions{Output: io.Discard, Level: hclog.Off})
	out.RegisterSink(slogSink{h})
	return out
}

// slogSink passes on what a logger is told.
type slogSink struct{ handler slog.Handler }

// Accept implements [hclog.SinkAdapter].
func (s slogSink) Accept(name string, level hclog.Level, msg string, args ...any) {
	defer func() { _ = recover() }() // a log that cannot be written is not logged
	ctx, at := context.Background(), slogLevel(level)
	if !s.handler.Enabled(ctx, at) {
		return
	}
	r := slog.NewRecord(time.Now(), at, msg, 0)
	if name != "" {
		r.Add("logger", name)
	}
	r.Add(args...)
	_ = s.handler.Handle(ctx, r)
}

// slogLevel returns the level of log/slog; trace is below its lowest.
func slogLevel(l hclog.Level) slog.Level {
	switch l {
	case hclog.Trace:
		return slog.LevelDebug - 4
	case hclog.Debug:
		return slog.LevelDebug
	case hclog.Warn:
		return slog.LevelWarn
	case hclog.Error:
		return slog.LevelError
	default:
		return slog.LevelInfo
	}
}
