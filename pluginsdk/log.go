package pluginsdk

import (
	"bytes"
	"context"
	"io"
	"log"
	"log/slog"
	"os"

	"github.com/hashicorp/go-hclog"

	"github.com/toolhost/toolhost/internal/callctx"
)

// The loggers that a program has if it sets none.
var (
	plainSlog  = slog.Default()
	plainHclog = hclog.Default()
)

// leadLogs leads what is logged by default to the host's log, with levels and attributes. What
// the author has set stays. All levels are sent: the host chooses what it shows. A host reads lines
// of JSON, and an author who has the plugin's terminal does not.
func leadLogs(stderr io.Writer, json bool) {
	out := hclog.New(&hclog.LoggerOptions{Level: hclog.Trace, Output: stderr, JSONFormat: json})
	if hclog.Default() == plainHclog {
		hclog.SetDefault(out)
	}
	if slog.Default() != plainSlog {
		return
	}
	own, flags := log.Writer(), log.Flags()
	slog.SetDefault(slog.New(&logHandler{out: out}))
	if own != os.Stderr { // the author's, which SetDefault has replaced
		log.SetOutput(own)
		log.SetFlags(flags)
	}
}

// logHandler sends records to the host: with the call that the context belongs to, or else by
// standard error.
type logHandler struct {
	out  hclog.Logger
	with []func(slog.Handler) slog.Handler // the attributes and groups, in their order
}

// Enabled implements [slog.Handler].
func (h *logHandler) Enabled(context.Context, slog.Level) bool { return true }

// WithAttrs implements [slog.Handler].
func (h *logHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return h.and(func(to slog.Handler) slog.Handler { return to.WithAttrs(attrs) })
}

// WithGroup implements [slog.Handler].
func (h *logHandler) WithGroup(name string) slog.Handler {
	return h.and(func(to slog.Handler) slog.Handler { return to.WithGroup(name) })
}

func (h *logHandler) and(f func(slog.Handler) slog.Handler) slog.Handler {
	return &logHandler{h.out, append(h.with[:len(h.with):len(h.with)], f)}
}

// Handle implements [slog.Handler].
func (h *logHandler) Handle(ctx context.Context, r slog.Record) error {
	attributes, err := h.attributes(ctx, r)
	text := r.Message
	if len(attributes) > 0 {
		text += " " + string(attributes)
	}
	if send, ok := ctx.Value(callctx.Log{}).(func(slog.Level, string)); ok {
		send(r.Level, text)
		return err
	}
	h.out.Log(hclogLevel(r.Level), text)
	return err
}

// attributes returns the attributes of a record as slog's own text has them.
func (h *logHandler) attributes(ctx context.Context, r slog.Record) ([]byte, error) {
	var b bytes.Buffer
	builtin := 0 // the attributes of slog to come: level and message
	var text slog.Handler = slog.NewTextHandler(&b, &slog.HandlerOptions{
		Level: slog.Level(-1 << 30),
		ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if builtin > 0 {
				builtin--
				return slog.Attr{}
			}
			return a
		},
	})
	for _, f := range h.with {
		text = f(text)
	}
	bare := slog.Record{Level: r.Level}
	r.Attrs(func(a slog.Attr) bool { bare.AddAttrs(a); return true })
	builtin = 2
	err := text.Handle(ctx, bare)
	return bytes.TrimSpace(b.Bytes()), err
}

func hclogLevel(l slog.Level) hclog.Level {
	switch {
	case l < slog.LevelDebug:
		return hclog.Trace
	case l < slog.LevelInfo:
		return hclog.Debug
	case l < slog.LevelWarn:
		return hclog.Info
	case l < slog.LevelError:
		return hclog.Warn
	}
	return hclog.Error
}
