// Package otlptest is a collector of OpenTelemetry's traces, for tests. Begin with [New].
package otlptest

import (
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	collectorpb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// Collector is an OTLP receiver.
type Collector struct {
	*httptest.Server

	mu    sync.Mutex
	spans []*tracepb.Span
	from  []string // their services
}

// New returns a collector that takes what comes with this value of the header X-Key, until the test has ended.
func New(t testing.TB, key string) *Collector {
	t.Helper()
	c := &Collector{}
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		var in collectorpb.ExportTraceServiceRequest
		if err == nil {
			err = proto.Unmarshal(body, &in)
		}
		if err != nil || r.URL.Path != "/v1/traces" || r.Header.Get("X-Key") != key {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		for _, rs := range in.GetResourceSpans() {
			for _, a := range rs.GetResource().GetAttributes() {
				if a.GetKey() == "service.name" {
					c.from = append(c.from, a.GetValue().GetStringValue())
				}
			}
			for _, ss := range rs.GetScopeSpans() {
				c.spans = append(c.spans, ss.GetSpans()...)
			}
		}
	}))
	t.Cleanup(c.Close)
	return c
}

// Of returns the spans of a trace by their names: those of calls, and below each its phases.
func (c *Collector) Of(trace string) (calls []*tracepb.Span, below map[string][]string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	below = map[string][]string{}
	for _, s := range c.spans {
		switch id := hex.EncodeToString(s.GetSpanId()); {
		case hex.EncodeToString(s.GetTraceId()) != trace:
		case strings.Contains(s.GetName(), " "):
			calls = append(calls, s)
			below[id] = append(below[id], "")
		default:
			parent := hex.EncodeToString(s.GetParentSpanId())
			below[parent] = append(below[parent], s.GetName())
		}
	}
	return calls, below
}

// Services are the names of those that have sent spans.
func (c *Collector) Services() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	slices.Sort(c.from)
	return slices.Compact(slices.Clone(c.from))
}

// Attribute is the text of an attribute.
func Attribute(s *tracepb.Span, key string) string {
	for _, a := range s.GetAttributes() {
		if a.GetKey() == key {
			return a.GetValue().GetStringValue()
		}
	}
	return ""
}
