package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"time"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/activity"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/control"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/metrics"
	"github.com/toolhost/toolhost/host/fleet"
	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/internal/durable"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// metricNames describes the metrics of a daemon, by what one with a plugin serves.
func metricNames(string) (string, error) {
	n := metrics.New(func() metrics.Snapshot {
		return metrics.Snapshot{State: control.State{
			Plugins: []plugin.Status{{Name: "example", Usage: &plugin.Usage{}}},
			Fleet: &control.FleetState{Queue: &fleet.QueueStatus{
				Open: true, Stats: durable.Stats{Tools: map[string]uint64{"example": 1}},
			}},
		}, Traces: map[string]uint64{"sent": 0}, Callers: map[string]activity.Load{"example": {}}, LastLine: time.Now()}
	}, func(name string) string { return name })
	n.Call(policy.Event{Call: tool.Call{Name: "example"}, Safety: tool.Safe, Phases: policy.Phases{Ran: 1}})
	n.TurnedAway("example")
	n.Counting(http.NotFoundHandler()).ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/", http.NoBody))
	w := httptest.NewRecorder()
	n.Handler(false).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "http://127.0.0.1/metrics", http.NoBody))
	if w.Code != http.StatusOK {
		return "", fmt.Errorf("status %d: %s", w.Code, w.Body)
	}
	b := &strings.Builder{}
	b.WriteString(generated("Metrics", "cmd/toolhost/internal/metrics"))
	b.WriteString("A daemon serves these to Prometheus, on its socket and on the address that `metrics.address` names\n" +
		"([Watch it](../how-to/daemon.md#watch-it)), with those of the Go runtime and of its process (`go_*`,\n`process_*`). " +
		"A name that is not a tool's counts as `(unknown)`; beyond\n2,000 tools, 200 callers, and 5,000 pairs of both, one counts as `(other)`. " +
		"Histograms are also served as native ones.\n[packaging/monitoring](../../packaging/monitoring) has alert rules and a dashboard.\n\n" +
		"| metric | type | labels | meaning |\n|---|---|---|---|\n")
	for _, m := range regexp.MustCompile(`(?m)^# HELP (toolhost_\S+) (.*)\n# TYPE \S+ (\w+)\n[^{ ]+(?:\{([^}]*)\})?`).FindAllStringSubmatch(w.Body.String(), -1) {
		var labels []string
		for _, l := range regexp.MustCompile(`(\w+)="`).FindAllStringSubmatch(m[4], -1) {
			if l[1] != "le" { // a histogram's own
				labels = append(labels, "`"+l[1]+"`")
			}
		}
		fmt.Fprintf(b, "| `%s` | %s | %s | %s |\n", m[1], m[3], strings.Join(labels, ", "), cell(m[2]))
	}
	return b.String(), nil
}
