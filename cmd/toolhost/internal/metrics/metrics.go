// Package metrics counts what a daemon does, and serves the numbers to Prometheus and profiles
// to go tool pprof. Begin with [New].
//
// Nothing here is in the way of a call of an embedded host: the daemon counts the answers that
// it gives. The number of series is bounded, whatever callers ask for: a name that is not a
// tool's counts as (unknown), and beyond 2,000 tools one counts as (other).
package metrics

import (
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/toolhost/toolhost/internal/errorcode"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Bounds of what is served.
const (
	maxTools     = 2000
	maxScrapes   = 4                // at a time
	scrapeLimit  = 10 * time.Second // for collecting
	unknownTool  = "(unknown)"      // parentheses are in no tool's name
	otherTool    = "(other)"
	succeeded    = "ok"
	otherCode    = "other"
	profileLimit = time.Minute
)

// buckets are of durations, in seconds: from a function of Go to the default limit of a call
// and beyond.
var buckets = []float64{0.001, 0.005, 0.025, 0.1, 0.5, 2.5, 10, 60, 300}

// Numbers are the metrics of a daemon. They are safe for concurrent use.
type Numbers struct {
	registry  *prometheus.Registry
	calls     *prometheus.CounterVec
	durations *prometheus.HistogramVec
	reloads   *prometheus.CounterVec
	refusals  *prometheus.CounterVec

	mu    sync.Mutex
	tools map[string]bool // with series of their own
}

// New returns numbers, and those of the state that source returns at each scrape.
func New(source func() Snapshot) *Numbers {
	n := &Numbers{
		registry: prometheus.NewRegistry(), tools: map[string]bool{},
		calls: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "toolhost_calls_total", Help: "Calls that have ended, by tool and code (ok: the tool succeeded).",
		}, []string{"tool", "code"}),
		durations: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "toolhost_call_duration_seconds", Help: "How long calls took, waits for approval and starts included.",
			Buckets: buckets,
		}, []string{"tool"}),
		reloads: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "toolhost_reloads_total", Help: "Reloads of the configuration, by result (ok, or failed).",
		}, []string{"result"}),
		refusals: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "toolhost_http_refusals_total", Help: "Requests over HTTP that were turned away, of callers and of others, by reason.",
		}, []string{"reason"}),
	}
	n.registry.MustRegister(n.calls, n.durations, n.reloads, n.refusals, states{source},
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return n
}

// Call counts a call that has ended. Name is the tool's, or empty if there is no such tool;
// code is empty if it succeeded.
func (n *Numbers) Call(name string, code tool.Code, took time.Duration) {
	name = n.label(name)
	result := string(code)
	switch {
	case code == "":
		result = succeeded
	case !errorcode.Known(code): // it comes from a plugin
		result = otherCode
	}
	n.calls.WithLabelValues(name, result).Inc()
	n.durations.WithLabelValues(name).Observe(took.Seconds())
}

// Reload counts a reload.
func (n *Numbers) Reload(err error) {
	result := succeeded
	if err != nil {
		result = "failed"
	}
	n.reloads.WithLabelValues(result).Inc()
}

// TurnedAway counts a request over HTTP that was turned away. The reasons are those of the server.
func (n *Numbers) TurnedAway(reason string) { n.refusals.WithLabelValues(reason).Inc() }

// label returns the label of a tool.
func (n *Numbers) label(name string) string {
	if name == "" {
		return unknownTool
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	switch {
	case n.tools[name]:
	case len(n.tools) >= maxTools:
		return otherTool
	default:
		n.tools[name] = true
	}
	return name
}

// handler serves the numbers.
func (n *Numbers) handler() http.Handler {
	return promhttp.HandlerFor(n.registry, promhttp.HandlerOpts{
		MaxRequestsInFlight: maxScrapes, Timeout: scrapeLimit, DisableCompression: true,
	})
}
