package telemetry

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/hex"
	"math/rand/v2"
	"strings"
	"time"

	otel "go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	resourcepb "go.opentelemetry.io/proto/otlp/resource/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/internal/redact"
	"github.com/toolhost/toolhost/internal/sanitize"
	"github.com/toolhost/toolhost/internal/tracecontext"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

const (
	maxText  = 256 // bytes of a value
	maxKnown = 1024
)

type (
	attribute = commonpb.KeyValue
	// uploader is the client.
	uploader interface {
		UploadTraces(context.Context, []*tracepb.ResourceSpans) error
	}
)

// ended is a call that has ended, without what may be large.
type ended struct {
	policy.Event
	failure           string // a code; empty: it did well
	message           string
	arguments, result string
}

// keep returns what is sent of a call.
func (x *Exporter) keep(e policy.Event) *ended {
	out := &ended{Event: e}
	switch {
	case e.Err != nil:
		out.failure = string(tool.CodeOf(e.Err))
	case e.Result.IsError:
		out.failure = toolError
	}
	if t := e.Definition; t != nil {
		out.Call.Name = t.Name                          // and not the alias
		if out.failure != "" && len(t.Sensitive) == 0 { // else it may quote secrets
			out.message = text(e.Result, e.Err, maxText)
		}
		if x.arguments && e.Decision != "" { // else they may not be what the schema says
			out.arguments = arguments(e.Call.Arguments, t.Sensitive)
			if len(t.Sensitive) == 0 {
				out.result = text(e.Result, nil, redact.MaxInput)
			}
		}
	}
	if len(out.Call.Name) > maxText { // of no tool
		out.Call.Name = strings.Clone(out.Call.Name[:maxText])
	}
	out.Call.Arguments, out.Definition, out.Result, out.Err = nil, nil, tool.Result{}, nil
	return out
}

// text is the beginning of what a call returned.
func text(r tool.Result, err error, most int) string {
	if err != nil {
		return sanitize.Line(err.Error(), most)
	}
	r.Content = r.Content[:min(len(r.Content), 1)]
	all := r.Text()
	return sanitize.Line(all[:min(len(all), most+1)], most)
}

// arguments are those of a call as they are on record, where large ones are left out.
func arguments(args []byte, sensitive []string) string {
	if len(args) > redact.MaxInput {
		return ""
	}
	hidden, digest := redact.Values(args, func(key string) bool { return redact.Among(sensitive, key) }, redact.MaxInput)
	if digest == "" {
		hidden = args
	}
	return string(bytes.ToValidUTF8(hidden, []byte("\uFFFD")))
}

// describe says whose spans they are: what OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES say goes before.
func (x *Exporter) describe() *resourcepb.Resource {
	r, err := resource.New(x.life,
		resource.WithAttributes(otel.String("service.name", "toolhost"), otel.String("service.version", host.Version)),
		resource.WithHost(), resource.WithFromEnv())
	if err != nil {
		x.log.Warn("OTEL_RESOURCE_ATTRIBUTES cannot be read as a whole", "error", said(err))
	}
	out := &resourcepb.Resource{}
	for _, kv := range r.Attributes() {
		out.Attributes = append(out.Attributes, newAttribute(sanitize.Line(string(kv.Key), maxText), sanitize.Line(kv.Value.String(), maxText)))
	}
	return out
}

// spans returns the spans of calls.
func (x *Exporter) spans(batch []*ended) []*tracepb.ResourceSpans {
	scope := &tracepb.ScopeSpans{Scope: &commonpb.InstrumentationScope{Name: "github.com/toolhost/toolhost", Version: host.Version}}
	scope.Spans = make([]*tracepb.Span, 0, 2*len(batch))
	for _, e := range batch {
		scope.Spans = x.append(scope.Spans, e)
	}
	return []*tracepb.ResourceSpans{{Resource: x.resource, ScopeSpans: []*tracepb.ScopeSpans{scope}}}
}

// append appends the span of a call, and one for each of its phases below it.
func (x *Exporter) append(to []*tracepb.Span, e *ended) []*tracepb.Span {
	name, method := executeTool, ""
	kind := tracepb.Span_SPAN_KIND_INTERNAL
	switch {
	case e.Parent != "": // it was made in another call, and not asked for from outside
	case e.Via == "mcp":
		name, method, kind = callTool, callTool, tracepb.Span_SPAN_KIND_SERVER
	case e.Via == "fleet":
		kind = tracepb.Span_SPAN_KIND_SERVER
	}
	toolIs := sanitize.Line(e.Call.Name, maxText)
	ids := make([]byte, 0, 80) // of all its spans
	decoded := func(id string) []byte {
		begin := len(ids)
		ids, _ = hex.AppendDecode(ids, []byte(id)) // which is valid
		return ids[begin:len(ids):len(ids)]
	}
	trace, flags := decoded(tracecontext.ID(e.Trace.Parent)), uint32(0)
	if tracecontext.IsSampled(e.Trace.Parent) {
		flags = 1
	}
	s := &tracepb.Span{
		Name: name + " " + toolIs, Kind: kind, TraceId: trace, Flags: flags, TraceState: e.Trace.State,
		SpanId: decoded(tracecontext.Span(e.Trace.Parent)), ParentSpanId: decoded(e.ParentSpan),
	}
	begin := e.Time.UnixNano()
	lasts(s, begin, e.Duration)
	add := func(key, value string) {
		if value != "" {
			s.Attributes = append(s.Attributes, x.attribute(key, value))
		}
	}
	s.Attributes = make([]*attribute, 0, 18)
	add(operationName, executeTool)
	add(toolName, toolIs)
	add(mcpMethod, method)
	add(caller, e.Caller)
	add(account, e.Account)
	add(via, e.Via)
	add(client, e.Client)
	add(session, e.Session)
	add(plugin, e.Plugin)
	add(decision, e.Decision)
	add(approver, e.Approver)
	if e.Safety != tool.Unset {
		add(safety, e.Safety.String())
	}
	if e.Attempts > 1 {
		s.Attributes = append(s.Attributes, number(attempts, e.Attempts))
	}
	s.Attributes = append(s.Attributes, newAttribute(toolCallID, sanitize.Line(e.Call.ID, maxText)),
		number(bytesIn, e.Phases.BytesIn), number(bytesOut, e.Phases.BytesOut))
	if e.failure != "" {
		add(errorType, e.failure)
		s.Status = &tracepb.Status{Code: tracepb.Status_STATUS_CODE_ERROR, Message: e.message}
	}
	if e.arguments != "" {
		s.Attributes = append(s.Attributes, newAttribute(toolArguments, e.arguments))
	}
	if e.result != "" {
		s.Attributes = append(s.Attributes, newAttribute(toolResult, e.result))
	}
	to = append(to, s)
	ran := tracepb.Span_SPAN_KIND_INTERNAL
	if e.Plugin != "" {
		ran = tracepb.Span_SPAN_KIND_CLIENT
	}
	for _, phase := range []struct {
		name string
		took tool.Duration
		kind tracepb.Span_SpanKind
	}{
		{"asked", e.Phases.Asked, tracepb.Span_SPAN_KIND_INTERNAL},
		{"retried", e.Phases.Retried, tracepb.Span_SPAN_KIND_INTERNAL},
		{"started", e.Phases.Started, tracepb.Span_SPAN_KIND_INTERNAL},
		{"queued", e.Phases.Queued, tracepb.Span_SPAN_KIND_INTERNAL},
		{"ran", e.Phases.Sent + e.Phases.Ran, ran},
	} {
		if phase.took <= 0 {
			continue
		}
		below := &tracepb.Span{
			Name: phase.name, Kind: phase.kind, TraceId: trace, Flags: flags,
			ParentSpanId: s.SpanId,
		}
		ids = binary.NativeEndian.AppendUint64(ids, rand.Uint64()|1)
		below.SpanId = ids[len(ids)-8 : len(ids) : len(ids)]
		to, begin = append(to, below), lasts(below, begin, time.Duration(phase.took))
	}
	return to
}

// lasts sets when a span begins, in Unix nanoseconds, and returns when it ends.
func lasts(s *tracepb.Span, begin int64, took time.Duration) (end int64) {
	end = begin + int64(took)
	s.StartTimeUnixNano, s.EndTimeUnixNano = uint64(begin), uint64(end) //nolint:gosec // not before 1970
	return end
}

// attribute returns an attribute of which there are few.
func (x *Exporter) attribute(key, value string) *attribute {
	k := [2]string{key, value}
	a := x.known[k]
	if a == nil {
		if len(x.known) == maxKnown {
			clear(x.known)
		}
		a = newAttribute(key, sanitize.Line(value, maxText))
		x.known[k] = a
	}
	return a
}

func newAttribute(key, value string) *attribute {
	var parts struct { // allocated together
		attribute attribute
		value     commonpb.AnyValue
		text      commonpb.AnyValue_StringValue
	}
	parts.text.StringValue, parts.value.Value = value, &parts.text
	parts.attribute.Key, parts.attribute.Value = key, &parts.value
	return &parts.attribute
}

func number(key string, n int) *attribute {
	var parts struct {
		attribute attribute
		value     commonpb.AnyValue
		number    commonpb.AnyValue_IntValue
	}
	parts.number.IntValue, parts.value.Value = int64(n), &parts.number
	parts.attribute.Key, parts.attribute.Value = key, &parts.value
	return &parts.attribute
}
