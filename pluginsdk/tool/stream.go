package tool

import (
	"context"
	"errors"
	"io"

	"github.com/toolhost/toolhost/internal/callctx"
	"github.com/toolhost/toolhost/internal/callstage"
	"github.com/toolhost/toolhost/internal/textstream"
)

// Delta is a piece of a result's text, as its tool streams it. See [WithDeltas].
type Delta struct {
	// Text follows the text of the call's earlier deltas. It is valid UTF-8.
	Text string `json:"text,omitempty"`
	// Reset says that the text so far is void, because the attempt failed and the call is tried
	// again. Text is empty then.
	Reset bool `json:"reset,omitempty"`
}

// WithDeltas returns a context whose calls hand the text that their tools stream to f, as it
// comes; see [Stream]. Nil: it is not wanted.
//
// The deltas of a call come one at a time, in order, and none after the call has ended. If it ends
// with a result and there were any, the texts since the last reset are how the text of its first
// block begins; those of a host are all of it. If the call ends with an error they are void. The
// result is whole in any case, and providers that do not know deltas give just that. A tool of another process does not wait for f: what it streams meanwhile
// comes in fewer, larger pieces. One of this process does wait, and so does the end of the call.
func WithDeltas(ctx context.Context, f func(Delta)) context.Context {
	return context.WithValue(ctx, callctx.Deltas{}, f)
}

// TextWriter takes the text of a result; see [Stream].
type TextWriter interface {
	io.Writer
	io.StringWriter
}

// Stream returns a writer of the result's text, for a handler whose answer takes long or is long:
// callers that show a text as it comes get it then, all others with the result. The handler need
// not know which it is.
//
// What is written becomes the first block of the result, a text. What the handler returns follows
// it, so it must not be the same text again: a handler that has written all of its answer returns
// "" or a [Result] without content. If the handler returns an error, the text is lost, as an
// error has no result; a result with IsError keeps it.
//
// Bytes that are not UTF-8 are replaced by U+FFFD. All calls of Stream within a call write to the same text, and the writer may be used by
// several goroutines, until the handler returns. Outside a call, what is written is dropped.
//
// # Errors
//
// Of the writer: the cause of ctx if that has ended, so that the handler can end too;
// [CodeResourceExhausted] for more than 64 MiB; [CodeCanceled] after the handler has returned.
func Stream(ctx context.Context) TextWriter {
	slot, _ := ctx.Value(callctx.Stream{}).(*textstream.Slot)
	if slot == nil {
		return textWriter{ctx: ctx}
	}
	return textWriter{ctx, slot.Writer()}
}

// textWriter is a writer within a call.
type textWriter struct {
	ctx context.Context //nolint:containedctx // that of the call, which bounds the writer
	to  *textstream.Writer
}

// Write implements [io.Writer].
func (w textWriter) Write(b []byte) (int, error) {
	return w.written(len(b), func() error { return w.to.Write(b) })
}

// WriteString implements [io.StringWriter].
func (w textWriter) WriteString(s string) (int, error) {
	return w.written(len(s), func() error { return w.to.WriteString(s) })
}

func (w textWriter) written(n int, write func() error) (int, error) {
	if w.ctx.Err() != nil {
		return 0, context.Cause(w.ctx)
	}
	if w.to == nil {
		return n, nil
	}
	switch err := write(); {
	case err == nil:
		return n, nil
	case errors.Is(err, textstream.ErrFull):
		return 0, Errorf(CodeResourceExhausted, "%w", err).At(callstage.Execute).Try("ask for less at once")
	default:
		return 0, Errorf(CodeCanceled, "%w", err).At(callstage.Execute)
	}
}

// Streamed returns the result of a handler that has streamed a text: r with the text in front.
// Blocks of r that are empty texts are left out. Only what offers [Stream] to handlers calls it.
func Streamed(text string, r Result) Result {
	if text == "" {
		return r
	}
	content := make([]Content, 1, 1+len(r.Content))
	content[0] = TextContent{Text: text}
	for _, c := range r.Content {
		if t, ok := c.(TextContent); !ok || t.Text != "" || len(t.Extra) > 0 {
			content = append(content, c)
		}
	}
	r.Content = content
	return r
}

// collecting is the context of a call that offers [Stream] to its handler, and none of its caller's
// deltas: a call that the handler makes is another.
type collecting struct {
	context.Context

	slot textstream.Slot
}

// Value implements [context.Context].
func (c *collecting) Value(key any) any {
	switch key.(type) {
	case callctx.Stream:
		return &c.slot
	case callctx.Deltas:
		return nil
	}
	return c.Context.Value(key)
}

// Collect returns a handler whose result has what h streams. A provider that runs handlers itself,
// as [Set] does, wraps them in it; one that passes calls on does not.
func Collect(h Handler) Handler {
	if h == nil {
		return nil
	}
	return func(ctx context.Context, call Call) (Result, error) {
		show := callctx.Get[func(Delta)](ctx, callctx.Deltas{})
		slot, _ := ctx.Value(callctx.Stream{}).(*textstream.Slot)
		if show != nil || slot == nil {
			c := &collecting{Context: ctx}
			if show != nil {
				c.slot.Sink = &textstream.Sink{Show: func(text string) { show(Delta{Text: text}) }}
			}
			ctx, slot = c, &c.slot
		}
		defer slot.Take() // also after a panic
		res, err := h(ctx, call)
		if text := slot.Take(); err == nil {
			res = Streamed(text, res)
		}
		return res, err
	}
}
