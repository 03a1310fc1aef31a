package metrics

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/activity"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/control"
	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/durable"
)

// Snapshot is a daemon at one moment.
type Snapshot struct {
	State control.State
	// Asking counts the calls that wait for a person's answer.
	Asking int
	// Sessions counts those that have names, MCPRequests the requests of MCP clients over HTTP that are not answered
	// yet, and MCPCallers who made them.
	Sessions, MCPRequests, MCPCallers int
	// Dropped counts the events that the numbers have missed.
	Dropped uint64
	// Lines, Failed and Waiting count the lines that were put on record since the start, those that could not be, and those
	// that wait in memory.
	Lines, Failed, Waiting int64
	// LastLine is when the newest line was put on record; zero: none was since the start.
	LastLine time.Time
	// Callers are how many calls each caller has that run, and that wait.
	Callers map[string]activity.Load
	// Traces counts calls by what became of their spans.
	Traces map[string]uint64
}

// states collects the state of a daemon and of its plugins at each scrape.
type states struct {
	source  func() Snapshot
	numbers *Numbers
}

// allStates are the states of plugins. Each plugin has a series for each, of which one is 1, so
// that a query finds it whatever the state was before.
var allStates = []plugin.State{
	plugin.Idle, plugin.Starting, plugin.Ready, plugin.Degraded, plugin.Backoff, plugin.Quarantined,
	plugin.Draining, plugin.Disabled, plugin.Refused,
}

// descriptions are those of what is collected, by name. They are made when they are asked for first: most commands never do.
var descriptions = sync.OnceValue(func() map[string]*prometheus.Desc {
	all := map[string]*prometheus.Desc{}
	describe := func(name, help string, labels ...string) {
		all[name] = prometheus.NewDesc("toolhost_"+name, help, labels, nil)
	}
	describe("info", "The version of the daemon, and the revision of its source.", "version", "revision")
	describe("start_time_seconds", "When the daemon began to serve, in Unix time.")
	describe("tools", "Tools that can be called.")
	describe("faults", "Faults of plugins, directories and the configuration, see toolhost status.")
	describe("skipped_files", "Files in plugin directories that are not plugins.")
	describe("draining_processes", "Processes that were replaced or withdrawn, whose calls may still end.")
	describe("calls_in_progress", "Calls that have not ended, whichever way they came in.")
	describe("approvals_waiting", "Calls that wait for a person's answer.")
	describe("sessions", "Named sessions.")
	describe("http_requests_in_progress", "Requests to the MCP endpoint that are not answered yet.")
	describe("http_callers", "Callers who have such requests.")
	describe("events_dropped_total", "Events of calls, tools and plugins that these numbers have missed, as too many came at once.")
	describe("audit_lines_total", "Lines that were put on record.")
	describe("audit_failed_total", "Lines that could not be put on record.")
	describe("audit_lines_waiting", "Lines that wait in memory, as another process keeps the record locked.")
	describe("audit_last_line_timestamp_seconds", "When the newest line was put on record, in Unix time.")
	describe("caller_calls", "Calls of a caller that have not ended, by state (running, waiting).", "caller", "state")
	describe("traced_calls_total", "Calls by what became of their spans (sent, failed, dropped).", "result")
	describe("plugin_state", "1 for the state that a plugin is in, 0 for the others.", "plugin", "state")
	describe("plugin_starts_total", "Starts of a plugin's process since it was loaded or upgraded.", "plugin")
	describe("plugin_crashes_total", "Crashes of a plugin's process since it was loaded or upgraded.", "plugin")
	describe("plugin_calls_running", "Calls that a plugin's process works on.", "plugin")
	describe("plugin_calls_waiting", "Calls that wait for their turn (limits.running).", "plugin")
	describe("plugin_upgrades_total", "How often another binary, or other settings, took the place of those before.", "plugin")
	describe("plugin_spare", "1 if a process of a plugin is kept warm.", "plugin")
	describe("plugin_cpu_seconds_total", "Processor time of all processes that a plugin has had.", "plugin")
	describe("plugin_memory_bytes", "Memory of a plugin's processes: of its control group without files that can be dropped, or what is resident.", "plugin")
	describe("plugin_memory_max_bytes", "The most that this was since the processes of now began, with files.", "plugin")
	describe("plugin_descriptors", "Descriptors that a plugin's processes have open.", "plugin")
	describe("plugin_refused_accesses_total", "Accesses that a plugin's sandbox refused, as far as the system tells: system calls and hosts, not files.", "plugin")
	describe("plugin_upgrade_failed", "1 if a newer file or newer settings of a plugin could not be used.", "plugin")
	describe("plugin_held", "1 if a change of a plugin waits for the operator.", "plugin")
	describe("plugin_wants_more", "1 if a plugin needs more than was accepted, and runs without.", "plugin")

	describe("fleet_reached", "1 if the host is in its fleet, 0 if no NATS server is reached; absent: it has none.")
	describe("fleet_hosts", "Other hosts of the fleet, refused if they are not used.", "refused")
	describe("fleet_tools", "Tools of other hosts that are mounted.")
	describe("fleet_queue_calls", "Durable calls of all hosts in the queue; absent: the host takes no part in it.")
	describe("fleet_queue_calls_running", "Durable calls that run on this host.")
	describe("fleet_queue_tool_calls", "Durable calls of the host's key that no worker has begun, by the tool's name where it runs.", "tool")
	describe("fleet_queue_bytes", "What all hosts keep of durable calls: their records (state) and results.", "kind")
	describe("fleet_queue_max_bytes", "The most that these may take; 0: there is no bound.", "kind")
	describe("fleet_calls_in_progress", "Calls of this host that other hosts of its fleet run.")
	return all
})

// Describe implements [prometheus.Collector].
func (states) Describe(out chan<- *prometheus.Desc) {
	for _, d := range descriptions() {
		out <- d
	}
}

// Collect implements [prometheus.Collector].
func (c states) Collect(out chan<- prometheus.Metric) {
	snapshot := c.source()
	now := snapshot.State
	all := descriptions()
	gauge := func(name string, value float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(all[name], prometheus.GaugeValue, value, labels...)
	}
	count := func(name string, value float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(all[name], prometheus.CounterValue, value, labels...)
	}
	gauge("info", 1, now.Version, now.Revision)
	gauge("start_time_seconds", float64(now.Since.UnixNano())/float64(time.Second))
	gauge("tools", float64(now.Tools))
	gauge("faults", float64(len(now.Faults)))
	gauge("skipped_files", float64(len(now.Skipped)))
	gauge("draining_processes", float64(len(now.Leaving)))
	gauge("calls_in_progress", float64(now.Calls))
	gauge("approvals_waiting", float64(snapshot.Asking))
	gauge("sessions", float64(snapshot.Sessions))
	gauge("http_requests_in_progress", float64(snapshot.MCPRequests))
	gauge("http_callers", float64(snapshot.MCPCallers))
	count("events_dropped_total", float64(snapshot.Dropped))
	count("audit_lines_total", float64(snapshot.Lines))
	count("audit_failed_total", float64(snapshot.Failed))
	gauge("audit_lines_waiting", float64(snapshot.Waiting))
	if !snapshot.LastLine.IsZero() {
		gauge("audit_last_line_timestamp_seconds", float64(snapshot.LastLine.UnixNano())/float64(time.Second))
	}
	for caller, l := range c.numbers.labelledLoads(snapshot.Callers) {
		gauge("caller_calls", float64(l.Running), caller, "running")
		gauge("caller_calls", float64(l.Waiting), caller, "waiting")
	}
	for result, n := range snapshot.Traces {
		count("traced_calls_total", float64(n), result)
	}
	if f := now.Fleet; f != nil {
		gauge("fleet_reached", boolean(f.Reached()))
		gauge("fleet_hosts", float64(f.Hosts), "false")
		gauge("fleet_hosts", float64(f.Refused), "true")
		gauge("fleet_tools", float64(f.Tools))
		gauge("fleet_calls_in_progress", float64(f.Calls))
		if q := f.Queue; q != nil && q.Open {
			gauge("fleet_queue_calls", float64(q.Queued))
			gauge("fleet_queue_calls_running", float64(q.Running))
			for name, n := range q.Tools {
				gauge("fleet_queue_tool_calls", float64(n), name)
			}
			for kind, l := range map[string]durable.Level{"results": q.Results, "state": q.State} {
				gauge("fleet_queue_bytes", float64(l.Bytes), kind)
				gauge("fleet_queue_max_bytes", float64(l.Max), kind)
			}
		}
	}
	for _, p := range now.Plugins {
		for _, state := range allStates {
			gauge("plugin_state", boolean(p.State == state), p.Name, string(state))
		}
		count("plugin_starts_total", float64(p.Starts), p.Name)
		count("plugin_crashes_total", float64(p.Crashes), p.Name)
		count("plugin_upgrades_total", float64(p.Upgrades), p.Name)
		gauge("plugin_spare", boolean(p.Spare != 0), p.Name)
		if u := p.Usage; u != nil {
			count("plugin_cpu_seconds_total", time.Duration(u.CPU).Seconds(), p.Name)
			gauge("plugin_memory_bytes", float64(u.Memory), p.Name)
			gauge("plugin_memory_max_bytes", float64(u.MaxMemory), p.Name)
			gauge("plugin_descriptors", float64(u.Descriptors), p.Name)
			count("plugin_refused_accesses_total", float64(u.Refused), p.Name)
		}
		gauge("plugin_calls_running", float64(p.Calls), p.Name)
		gauge("plugin_calls_waiting", float64(p.Waiting), p.Name)
		gauge("plugin_upgrade_failed", boolean(p.Upgrade != ""), p.Name)
		gauge("plugin_held", boolean(p.Held != ""), p.Name)
		gauge("plugin_wants_more", boolean(p.WantsMore != nil), p.Name)
	}
}

func boolean(on bool) float64 {
	if on {
		return 1
	}
	return 0
}
