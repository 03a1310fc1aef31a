package tool

import (
	"context"
	"log/slog"
	"unsafe"
)

// Companion is what a call's context brings along beside its end. Contexts of a
// package that carries calls implement it, and answer [CallValue] for it.
type Companion interface {
	// Call is the call itself.
	Call() *Call
	// Progress is who wants to be told; nil: nobody.
	Progress() func(Progress)
	// Log takes a line for the host's log.
	Log(level slog.Level, message string)
}

// CallValue is a companion's answer to a context's Value, with no context of its
// own for each of its abilities; nil: the key asks for something else.
func CallValue(key any, c Companion) any {
	switch key.(type) {
	case callKey:
		return c.Call()
	case progressKey:
		return c.Progress()
	case logKey:
		return c.Log
	}
	return nil
}

type callKey struct{}

// WithCall lets [CallFrom] find the call in the context. Where it is there already,
// the context stays as it is.
func WithCall(ctx context.Context, call Call) context.Context {
	if there, ok := ctx.Value(callKey{}).(*Call); ok && there.same(call) {
		return ctx
	}
	return context.WithValue(ctx, callKey{}, &call)
}

func (c *Call) same(other Call) bool {
	return c.ID == other.ID && c.Name == other.Name && c.Session == other.Session &&
		len(c.Arguments) == len(other.Arguments) && unsafe.SliceData(c.Arguments) == unsafe.SliceData(other.Arguments)
}

// CallFrom is the call that the context was given to; zero outside of one.
func CallFrom(ctx context.Context) Call {
	if call, ok := ctx.Value(callKey{}).(*Call); ok {
		return *call
	}
	return Call{}
}
