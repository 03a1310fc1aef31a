package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/control"
	"github.com/toolhost/toolhost/host/plugin"
)

// Snapshot is a daemon at one moment.
type Snapshot struct {
	State control.State
	// Asking counts the calls that wait for a person's answer.
	Asking int
}

// states collects the state of a daemon and of its plugins at each scrape.
type states struct{ source func() Snapshot }

// allStates are the states of plugins. Each plugin has a series for each, of which one is 1, so
// that a query finds it whatever the state was before.
var allStates = []plugin.State{
	plugin.Idle, plugin.Starting, plugin.Ready, plugin.Degraded, plugin.Backoff, plugin.Quarantined,
	plugin.Draining, plugin.Disabled, plugin.Refused,
}

func describe(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("toolhost_"+name, help, labels, nil)
}

var (
	descInfo      = describe("info", "The version of the daemon, and the revision of its source.", "version", "revision")
	descSince     = describe("start_time_seconds", "When the daemon began to serve, in Unix time.")
	descTools     = describe("tools", "Tools that can be called.")
	descFaults    = describe("faults", "Faults of plugins, directories and the configuration, see toolhost status.")
	descSkipped   = describe("skipped_files", "Files in plugin directories that are not plugins.")
	descLeaving   = describe("draining_processes", "Processes that were replaced or withdrawn, whose calls may still end.")
	descCalls     = describe("calls_in_progress", "Calls that have not ended, whichever way they came in.")
	descApprovals = describe("approvals_waiting", "Calls that wait for a person's answer.")
	descState     = describe("plugin_state", "1 for the state that a plugin is in, 0 for the others.", "plugin", "state")
	descStarts    = describe("plugin_starts_total", "Starts of a plugin's process since it was loaded or upgraded.", "plugin")
	descCrashes   = describe("plugin_crashes_total", "Crashes of a plugin's process since it was loaded or upgraded.", "plugin")
	descRunning   = describe("plugin_calls_running", "Calls that a plugin's process works on.", "plugin")
	descWaiting   = describe("plugin_calls_waiting", "Calls that wait for their turn (limits.running).", "plugin")
	descUpgrade   = describe("plugin_upgrade_failed", "1 if a newer file or newer settings of a plugin could not be used.", "plugin")
	descHeld      = describe("plugin_held", "1 if a change of a plugin waits for the operator.", "plugin")
	descWants     = describe("plugin_wants_more", "1 if a plugin needs more than was accepted, and runs without.", "plugin")

	descFleetReached = describe("fleet_reached", "1 if the host is in its fleet, 0 if no NATS server is reached; absent: it has none.")
	descFleetHosts   = describe("fleet_hosts", "Other hosts of the fleet, refused if they are not used.", "refused")
	descFleetTools   = describe("fleet_tools", "Tools of other hosts that are mounted.")
	descFleetQueued  = describe("fleet_queue_calls", "Durable calls of all hosts in the queue; absent: the host takes no part in it.")
	descFleetRunning = describe("fleet_queue_calls_running", "Durable calls that run on this host.")
	descFleetCalls   = describe("fleet_calls_in_progress", "Calls of this host that other hosts of its fleet run.")
)

// Describe implements [prometheus.Collector].
func (states) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{
		descInfo, descSince, descTools, descFaults, descSkipped, descLeaving, descCalls, descApprovals,
		descState, descStarts, descCrashes, descRunning, descWaiting, descUpgrade, descHeld, descWants,
		descFleetReached, descFleetHosts, descFleetTools, descFleetCalls, descFleetQueued, descFleetRunning,
	} {
		out <- d
	}
}

// Collect implements [prometheus.Collector].
func (c states) Collect(out chan<- prometheus.Metric) {
	snapshot := c.source()
	now := snapshot.State
	gauge := func(d *prometheus.Desc, value float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...)
	}
	count := func(d *prometheus.Desc, value int, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(value), labels...)
	}
	gauge(descInfo, 1, now.Version, now.Revision)
	gauge(descSince, float64(now.Since.UnixNano())/float64(time.Second))
	gauge(descTools, float64(now.Tools))
	gauge(descFaults, float64(len(now.Faults)))
	gauge(descSkipped, float64(len(now.Skipped)))
	gauge(descLeaving, float64(len(now.Leaving)))
	gauge(descCalls, float64(now.Calls))
	gauge(descApprovals, float64(snapshot.Asking))
	if f := now.Fleet; f != nil {
		gauge(descFleetReached, boolean(f.Reached()))
		gauge(descFleetHosts, float64(f.Hosts), "false")
		gauge(descFleetHosts, float64(f.Refused), "true")
		gauge(descFleetTools, float64(f.Tools))
		gauge(descFleetCalls, float64(f.Calls))
		if q := f.Queue; q != nil && q.Open {
			gauge(descFleetQueued, float64(q.Queued))
			gauge(descFleetRunning, float64(q.Running))
		}
	}
	for _, p := range now.Plugins {
		for _, state := range allStates {
			gauge(descState, boolean(p.State == state), p.Name, string(state))
		}
		count(descStarts, p.Starts, p.Name)
		count(descCrashes, p.Crashes, p.Name)
		gauge(descRunning, float64(p.Calls), p.Name)
		gauge(descWaiting, float64(p.Waiting), p.Name)
		gauge(descUpgrade, boolean(p.Upgrade != ""), p.Name)
		gauge(descHeld, boolean(p.Held != ""), p.Name)
		gauge(descWants, boolean(p.WantsMore != nil), p.Name)
	}
}

func boolean(on bool) float64 {
	if on {
		return 1
	}
	return 0
}
