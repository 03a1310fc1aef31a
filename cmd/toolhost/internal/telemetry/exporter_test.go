package telemetry

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/hashicorp/go-hclog"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/config"
	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

func env(pairs ...string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		for _, pair := range pairs {
			if value, ok := strings.CutPrefix(pair, name+"="); ok {
				return value, true
			}
		}
		return "", false
	}
}

// exporter makes one that sends nothing by itself.
func exporter(t testing.TB, s config.Telemetry, pairs ...string) *Exporter {
	t.Helper()
	s.Endpoint, s.SlowerThan = "http://127.0.0.1:1", time.Second
	x := New(s, env(pairs...), hclog.NewNullLogger())
	x.start.Do(func() {})
	return x
}

// event is that of a call, by a host with the tools fs.read and secret.put.
func event(change func(*policy.Event)) policy.Event {
	e := policy.Event{
		Time: time.Unix(1e9, 0), Call: tool.Call{Name: "fs_read", ID: "c1", Arguments: []byte(`{"path":"a","key":"hidden"}`)},
		Caller: "cli", Plugin: "fs", Decision: "allowed", Attempts: 1, Duration: 5 * time.Millisecond,
		Trace:  tool.Trace{Parent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"},
		Phases: policy.Phases{Queued: tool.Duration(time.Millisecond), Sent: 1, Ran: tool.Duration(2*time.Millisecond) - 1},
		Result: tool.Text("done"),
	}
	if change != nil {
		change(&e)
	}
	switch e.Call.Name {
	case "fs_read":
		e.Definition = &tool.Definition{Name: "fs.read"}
	case "secret.put":
		e.Definition = &tool.Definition{Name: e.Call.Name, Sensitive: []string{"key"}}
	}
	return e
}

// spansOf are those of one call.
func spansOf(t testing.TB, x *Exporter, e policy.Event) []*tracepb.Span {
	t.Helper()
	x.ended(e)
	if len(x.ring) == 0 {
		return nil
	}
	all := x.spans([]*ended{<-x.ring})
	require.Must(proto.Marshal(all[0]))(t) // what is not UTF-8 would cost the whole batch
	return all[0].GetScopeSpans()[0].GetSpans()
}

func has(s *tracepb.Span, key string) (value string) {
	for _, a := range s.GetAttributes() {
		if a.GetKey() == key {
			return a.GetValue().GetStringValue()
		}
	}
	return ""
}

// What has failed and what was slow is sent, whatever is sampled.
func TestWhatIsSent(t *testing.T) {
	t.Parallel()
	unsampled := func(e *policy.Event) { e.Trace.Parent = strings.TrimSuffix(e.Trace.Parent, "01") + "00" }
	for name, by := range map[string]struct {
		change func(*policy.Event)
		spans  int
	}{
		"sampled":        {nil, 3},
		"not sampled":    {unsampled, 0},
		"no trace":       {func(e *policy.Event) { e.Trace.Parent = "" }, 0},
		"slow":           {func(e *policy.Event) { unsampled(e); e.Duration = time.Second }, 3},
		"failed":         {func(e *policy.Event) { unsampled(e); e.Err = errors.New("no") }, 3},
		"failed by tool": {func(e *policy.Event) { unsampled(e); e.Result = tool.Failure("no luck") }, 3},
		"refused":        {func(e *policy.Event) { unsampled(e); e.Err, e.Phases = errors.New("no"), policy.Phases{} }, 1},
	} {
		spans := spansOf(t, exporter(t, config.Telemetry{}), event(by.change))
		if len(spans) != by.spans {
			t.Errorf("%s: %v", name, spans)
		}
	}
	all := spansOf(t, exporter(t, config.Telemetry{}), event(func(e *policy.Event) { e.Result = tool.Failure("no luck") }))
	call, queued, ran := all[0], all[1], all[2]
	if call.GetName() != "execute_tool fs.read" || has(call, errorType) != toolError || call.GetStatus().GetMessage() != "no luck" ||
		call.GetEndTimeUnixNano()-call.GetStartTimeUnixNano() != 5e6 || has(call, toolArguments) != "" {
		t.Errorf("the call: %v", call)
	}
	if queued.GetName() != "queued" || ran.GetName() != "ran" || ran.GetKind() != tracepb.Span_SPAN_KIND_CLIENT ||
		ran.GetStartTimeUnixNano() != queued.GetEndTimeUnixNano() || !bytes.Equal(ran.GetParentSpanId(), call.GetSpanId()) ||
		ran.GetEndTimeUnixNano()-ran.GetStartTimeUnixNano() != 2e6 {
		t.Errorf("its phases: %v, %v", queued, ran)
	}
}

// Arguments and results are sent if the operator wants them, and never what is sensitive.
func TestArgumentsOfSpans(t *testing.T) {
	t.Parallel()
	x := exporter(t, config.Telemetry{Arguments: true})
	open := spansOf(t, x, event(nil))[0]
	if has(open, toolArguments) != `{"path":"a","key":"hidden"}` || has(open, toolResult) != "done" {
		t.Errorf("it has %v", open)
	}
	for name, change := range map[string]func(*policy.Event){
		"sensitive":     func(e *policy.Event) { e.Call.Name, e.Err = "secret.put", errors.New("bad: hidden") },
		"not validated": func(e *policy.Event) { e.Decision, e.Err = "", errors.New("no") },
		"unknown":       func(e *policy.Event) { e.Call.Name, e.Err = "fs.reed", errors.New("hidden") },
		"large":         func(e *policy.Event) { e.Call.Arguments = fmt.Appendf(nil, `{"hidden":%q}`, strings.Repeat("x", 5000)) },
	} {
		s := spansOf(t, x, event(change))[0]
		if text := s.String(); strings.Contains(text, "hidden") {
			t.Errorf("%s: %s", name, text)
		}
	}
	if s := spansOf(t, x, event(func(e *policy.Event) { e.Call.Name = "secret.put" }))[0]; has(s, toolArguments) != `{"path":"a","key":"[redacted]"}` {
		t.Errorf("it has %v", s)
	}
}

// What strangers say is bounded, readable and UTF-8, or it would cost a batch.
func TestStrangersInSpans(t *testing.T) {
	t.Parallel()
	bad := strings.Repeat("\x1b[31m\xff\u202e<script>", 1000)
	all := spansOf(t, exporter(t, config.Telemetry{Arguments: true}), event(func(e *policy.Event) {
		e.Call.Name, e.Call.ID, e.Caller, e.Client, e.Session, e.Approver, e.Via = bad, bad, bad, bad, bad, bad, bad
		e.Err = errors.New(bad)
	}))
	if n := proto.Size(all[0]); n > 4<<10 {
		t.Errorf("it has %d bytes", n)
	}
	if text := all[0].GetName() + has(all[0], client); strings.ContainsAny(text, "\x1b\u202e") || !utf8.ValidString(text) {
		t.Errorf("it has %q", text)
	}
	x := exporter(t, config.Telemetry{Arguments: true})
	for i := range 3 * maxKnown {
		spansOf(t, x, event(func(e *policy.Event) { e.Client = fmt.Sprint("client ", i) }))
	}
	if len(x.known) > maxKnown {
		t.Errorf("%d attributes are kept", len(x.known))
	}
	s := spansOf(t, x, event(func(e *policy.Event) {
		e.Result = tool.Text("\xff" + bad)
		e.Call.Arguments = []byte("{\"a\":\"\xff\"}")
	}))[0]
	if !utf8.ValidString(has(s, toolArguments)) || has(s, toolResult) == "" {
		t.Errorf("it has %v", s)
	}
}

// There is no more room than for so many, the last of it for what failed, and what is left out is counted.
func TestRing(t *testing.T) {
	t.Parallel()
	x := exporter(t, config.Telemetry{})
	for range 1_000_000 {
		x.ended(event(nil))
	}
	if len(x.ring) != ringSize/4*3 || x.Dropped.Load() != 1_000_000-ringSize/4*3 {
		t.Errorf("%d wait, %d were dropped", len(x.ring), x.Dropped.Load())
	}
	x.ended(event(func(e *policy.Event) { e.Err = errors.New("no") }))
	if len(x.ring) != ringSize/4*3+1 {
		t.Errorf("a failure finds no room")
	}
}

// What settings and variables say: the sampled half of a trace's ID, and why nothing is sent.
func TestSettings(t *testing.T) {
	t.Parallel()
	half := [16]byte{8: 0x80}
	almost := [16]byte{8: 0x7f, 9: 0xff}
	for _, by := range []struct {
		sample       int
		vars         string
		half, almost bool
	}{
		{0, "", true, true}, {1, "", true, true}, {2, "", false, true}, {1_000_000, "", false, false},
		{0, "OTEL_TRACES_SAMPLER=always_off", false, false}, {2, "OTEL_TRACES_SAMPLER=always_off", false, true},
		{0, "OTEL_TRACES_SAMPLER=parentbased_traceidratio OTEL_TRACES_SAMPLER_ARG=0.5", false, true},
	} {
		x := exporter(t, config.Telemetry{Sample: by.sample}, strings.Fields(by.vars)...)
		if x.sampled(half) != by.half || x.sampled(almost) != by.almost || !x.sampled([16]byte{}) && by.almost {
			t.Errorf("%+v: %v, %v", by, x.sampled(half), x.sampled(almost))
		}
	}
	for vars, want := range map[string]string{
		"": "",
		"OTEL_EXPORTER_OTLP_ENDPOINT=http://c:4318/":                                                      "http://c:4318/v1/traces",
		"OTEL_EXPORTER_OTLP_ENDPOINT=http://c OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=https://d/own":           "https://d/own",
		"OTEL_EXPORTER_OTLP_ENDPOINT=http://c OTEL_SDK_DISABLED=True":                                     "",
		"OTEL_EXPORTER_OTLP_ENDPOINT=http://c OTEL_TRACES_EXPORTER=none":                                  "",
		"OTEL_EXPORTER_OTLP_ENDPOINT=http://c:4317 OTEL_EXPORTER_OTLP_PROTOCOL=grpc":                      "! grpc",
		"OTEL_EXPORTER_OTLP_ENDPOINT=c:4318":                                                              "! not a URL",
		"OTEL_EXPORTER_OTLP_ENDPOINT=http://c OTEL_TRACES_SAMPLER=xyz":                                    "! OTEL_TRACES_SAMPLER",
		"OTEL_EXPORTER_OTLP_ENDPOINT=http://c OTEL_TRACES_SAMPLER=traceidratio OTEL_TRACES_SAMPLER_ARG=2": "! from 0 to 1",
	} {
		x := New(config.Telemetry{}, env(strings.Fields(vars)...), hclog.NewNullLogger())
		switch fault := x.Fault(); {
		case x == nil:
			if want != "" {
				t.Errorf("%s: nothing is sent", vars)
			}
		case fault != nil:
			if bad, ok := strings.CutPrefix(want, "! "); !ok || !strings.Contains(fault.Message, bad) || x.Hooks(policy.Hooks{}).Sampled != nil {
				t.Errorf("%s: %v", vars, fault)
			}
		case x.Endpoint() != want:
			t.Errorf("%s: %s", vars, x.Endpoint())
		}
	}
	for endpoint, exposed := range map[string]bool{
		"http://127.0.0.1:4318": false, "http://localhost": false, "http://[::1]:4318": false, "https://c": false, "http://c": true,
	} {
		s := config.Telemetry{Endpoint: config.Address(endpoint), Headers: config.Environment{config.Value("X-Key", "secret")}}
		if got := New(s, env(), hclog.NewNullLogger()).Exposed(); got != exposed {
			t.Errorf("%s: %v", endpoint, got)
		}
	}
	missing := config.Telemetry{Endpoint: "http://c", Headers: config.Environment{{Name: "X-Key", FromEnv: "NO_SUCH"}}}
	if fault := New(missing, env(), hclog.NewNullLogger()).Fault(); fault == nil || !strings.Contains(fault.Message, "NO_SUCH") {
		t.Errorf("a header that is not there: %v", fault)
	}
}

// A collector that asks to be asked again in a few hundred years holds nothing up for longer than patience.
func TestCollectorAsksForPatience(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "9223372037")
		w.WriteHeader(http.StatusTooManyRequests)
	}))
	t.Cleanup(s.Close)
	x := New(config.Telemetry{Endpoint: config.Address(s.URL), SlowerThan: time.Second}, env(), hclog.NewNullLogger())
	x.patience = time.Millisecond
	x.ended(event(nil))
	require.Eventually(t, "the call counts as lost", func() bool { return x.Failed.Load() == 1 })
	if fault := x.Fault(); fault == nil || !strings.Contains(fault.OperatorHint, "1 are lost") {
		t.Errorf("the fault is %v", fault)
	}
	x.ended(event(nil))
	x.Close()
	if x.Failed.Load() != 2 {
		t.Errorf("%d are lost", x.Failed.Load())
	}
}

type nowhere struct{}

func (nowhere) UploadTraces(_ context.Context, r []*tracepb.ResourceSpans) error {
	_, err := proto.Marshal(r[0])
	return err
}

// What a call takes of its own goroutine, and of the one that sends.
func BenchmarkSpans(b *testing.B) {
	x := exporter(b, config.Telemetry{})
	e := event(nil)
	b.Run("kept", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			x.ended(e)
			<-x.ring
		}
	})
	batch := make([]*ended, batchSize)
	for i := range batch {
		batch[i] = x.keep(e)
	}
	b.Run("sent", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			x.send(nowhere{}, batch)
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/batchSize, "ns/call")
	})
}
