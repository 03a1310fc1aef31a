package pluginsdk

import (
	"context"

	"go.opentelemetry.io/otel/trace"

	"github.com/toolhost/toolhost/internal/tracecontext"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// traced returns ctx with the call's trace as OpenTelemetry's API has it, so that spans that the tool
// begins are below the host's.
func traced(ctx context.Context) context.Context {
	t := tracecontext.Valid(tool.TraceFrom(ctx))
	if t.Parent == "" {
		return ctx
	}
	c := trace.SpanContextConfig{Remote: true}
	c.TraceID, _ = trace.TraceIDFromHex(tracecontext.ID(t.Parent))
	c.SpanID, _ = trace.SpanIDFromHex(tracecontext.Span(t.Parent))
	if tracecontext.IsSampled(t.Parent) {
		c.TraceFlags = trace.FlagsSampled
	}
	c.TraceState, _ = trace.ParseTraceState(t.State) // one that is not valid is ignored
	return trace.ContextWithRemoteSpanContext(ctx, trace.NewSpanContext(c))
}
