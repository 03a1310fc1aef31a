// Package metrics counts what a daemon does, and serves the numbers to Prometheus and profiles
// to go tool pprof. Begin with [New].
//
// Nothing here is in the way of a call: the daemon's hooks tell of it when it has ended. The number of series is
// bounded, whatever callers ask for and call themselves.
package metrics

import (
	"net/http"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/toolhost/toolhost/host/audit"
	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Bounds of what is served.
const (
	maxTools     = 2000
	maxCallers   = 200
	maxPairs     = 5000             // of a tool and a caller
	maxScrapes   = 4                // at a time
	scrapeLimit  = 10 * time.Second // for collecting
	unknownTool  = "(unknown)"      // parentheses are in no tool's name
	noCaller     = "(none)"
	maxLabel     = 128
	others       = "(other)"
	succeeded    = "ok"
	otherCode    = "other"
	profileLimit = time.Minute
)

// buckets are of durations, in seconds: from a function of Go to the default limit of a call
// and beyond.
var buckets = []float64{0.00005, 0.0001, 0.00025, 0.001, 0.0025, 0.01, 0.025, 0.1, 0.5, 2.5, 10, 60, 300}

// Numbers are the metrics of a daemon. They are safe for concurrent use.
type Numbers struct {
	registry  *prometheus.Registry
	calls     *prometheus.CounterVec
	durations *prometheus.HistogramVec
	phases    [len(phases)]prometheus.Observer
	spent     *prometheus.CounterVec
	bytes     *prometheus.CounterVec
	answers   *prometheus.CounterVec
	reloads   *prometheus.CounterVec
	clients   prometheus.Counter
	requests  *prometheus.CounterVec
	refusals  *prometheus.CounterVec

	// Find returns the name of a tool, which calls may know by another; empty: there is none.
	find    func(name string) string
	changed atomic.Bool // names may lead to other tools than before
	cells
}

// New returns numbers, and those of the state that source returns at each scrape. Find returns the name of a tool, which
// a call may give another; empty: there is none.
func New(source func() Snapshot, find func(name string) string) *Numbers {
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: "toolhost_" + name, Help: help}, labels)
	}
	histogram := func(name, help, label string) *prometheus.HistogramVec {
		return prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "toolhost_" + name, Help: help, Buckets: buckets,
			NativeHistogramBucketFactor: 1.1, NativeHistogramMaxBucketNumber: 100, NativeHistogramMinResetDuration: time.Hour,
		}, []string{label})
	}
	n := &Numbers{
		registry: prometheus.NewRegistry(), find: find,
		cells:     cells{names: map[string]*toolCell{}, tools: map[string]*toolCell{}, callers: map[string]string{}, pairs: map[pair]counters{}},
		calls:     counter("calls_total", "Calls that have ended, by tool, caller and code (ok: the tool succeeded).", "tool", "caller", "code"),
		durations: histogram("call_duration_seconds", "How long calls took, waits for approval and starts included.", "tool"),
		spent: counter("tool_phase_seconds_total", "Where the time of a tool's calls went: the sums of toolhost_call_phase_seconds.",
			"tool", "phase"),
		bytes:    counter("call_bytes_total", "Size of the arguments (in) and results (out) of a tool's calls.", "tool", "direction"),
		answers:  counter("approvals_total", "Calls about which a person or a program was asked, by answer (approved, denied, none).", "answer"),
		reloads:  counter("reloads_total", "Reloads of the configuration, by result (ok, or failed).", "result"),
		requests: counter("http_requests_total", "Requests to the MCP endpoint that were answered, by status.", "code"),
		refusals: counter("http_refusals_total", "Requests over HTTP that were turned away, of callers and of others, by reason.", "reason"),
		clients: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "toolhost_mcp_clients_total", Help: "MCP clients that have connected, whichever way.",
		}),
	}
	inPhases := histogram("call_phase_seconds", "How long calls were in a phase, of those that were.", "phase")
	for i, phase := range phases {
		n.phases[i] = inPhases.WithLabelValues(phase)
	}
	for _, answer := range []string{"approved", "denied", "none"} {
		n.answers.WithLabelValues(answer)
	}
	for _, result := range []string{succeeded, "failed"} {
		n.reloads.WithLabelValues(result)
	}
	n.registry.MustRegister(n.calls, n.durations, inPhases, n.spent, n.bytes, n.answers, n.reloads, n.clients, n.requests,
		n.refusals, states{source, n}, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return n
}

// phases are where the time of a call goes, by the names of [policy.Phases]. A handshake is a part of what is started.
var phases = [...]string{"asked", "retried", "started", "handshake", "queued", "sent", "ran", "checked"}

func timesOf(p *policy.Phases) [len(phases)]tool.Duration {
	return [...]tool.Duration{p.Asked, p.Retried, p.Started, p.Handshake, p.Queued, p.Sent, p.Ran, p.Checked}
}

// Call counts a call that has ended.
func (n *Numbers) Call(e policy.Event) {
	var code tool.Code
	switch {
	case e.Err != nil:
		code = tool.CodeOf(e.Err)
	case e.Result.IsError:
		code = tool.CodeToolFailed
	}
	t, count := n.cellOf(e, code)
	count.Inc()
	t.took.Observe(max(e.Duration, 0).Seconds())
	for i, d := range timesOf(&e.Phases) {
		if d > 0 {
			n.phases[i].Observe(time.Duration(d).Seconds())
			n.spend(t, i, time.Duration(d).Seconds())
		}
	}
	t.in.Add(float64(max(e.Phases.BytesIn, 0)))
	t.out.Add(float64(max(e.Phases.BytesOut, 0)))
	if e.Approver != "" && e.Approver != policy.Operator { // else a rule has decided
		n.answers.WithLabelValues(answerOf(e, code)).Inc()
	}
}

// answerOf returns how a question about a call was answered. A question that no one answers denies the call, too.
func answerOf(e policy.Event, code tool.Code) string {
	switch {
	case e.Decision == audit.Approved:
		return "approved"
	case code == tool.CodeApprovalDenied && e.Approver != "timeout" && e.Approver != "approver":
		return "denied"
	}
	return "none"
}

// ToolsChanged says that names may lead to other tools than before.
func (n *Numbers) ToolsChanged() { n.changed.Store(true) }

// Reload counts a reload.
func (n *Numbers) Reload(err error) {
	result := succeeded
	if err != nil {
		result = "failed"
	}
	n.reloads.WithLabelValues(result).Inc()
}

// Client counts an MCP client that has connected.
func (n *Numbers) Client() { n.clients.Inc() }

// TurnedAway counts a request over HTTP that was turned away. The reasons are those of the server.
func (n *Numbers) TurnedAway(reason string) { n.refusals.WithLabelValues(reason).Inc() }

// Counting counts the requests that a handler answers.
func (n *Numbers) Counting(next http.Handler) http.Handler {
	return promhttp.InstrumentHandlerCounter(n.requests, next)
}

// handler serves the numbers.
func (n *Numbers) handler() http.Handler {
	return promhttp.HandlerFor(n.registry, promhttp.HandlerOpts{
		MaxRequestsInFlight: maxScrapes, Timeout: scrapeLimit, DisableCompression: true,
	})
}
