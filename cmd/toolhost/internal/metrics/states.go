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

func describe(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("toolhost_"+name, help, labels, nil)
}

// What is collected, once [New] has described it: most commands never do.
var (
	descInfo, descSince, descTools, descFaults, descSkipped, descLeaving                                *prometheus.Desc
	descCalls, descApprovals, descSessions, descMCPCalls, descMCPUsers, descDropped                     *prometheus.Desc
	descLines, descUnwritten, descLag, descState, descStarts, descCrashes                               *prometheus.Desc
	descRunning, descWaiting, descUpgrades, descSpare, descCPU, descMemory                              *prometheus.Desc
	descMost, descFiles, descRefused, descUpgrade, descHeld, descWants                                  *prometheus.Desc
	descLastLine, descCallers, descTraces, descFleetBytes, descFleetRoom, descFleetWaits                *prometheus.Desc
	descFleetReached, descFleetHosts, descFleetTools, descFleetQueued, descFleetRunning, descFleetCalls *prometheus.Desc
)

var describeAll = sync.OnceFunc(func() {
	descInfo = describe("info", "The version of the daemon, and the revision of its source.", "version", "revision")
	descSince = describe("start_time_seconds", "When the daemon began to serve, in Unix time.")
	descTools = describe("tools", "Tools that can be called.")
	descFaults = describe("faults", "Faults of plugins, directories and the configuration, see toolhost status.")
	descSkipped = describe("skipped_files", "Files in plugin directories that are not plugins.")
	descLeaving = describe("draining_processes", "Processes that were replaced or withdrawn, whose calls may still end.")
	descCalls = describe("calls_in_progress", "Calls that have not ended, whichever way they came in.")
	descApprovals = describe("approvals_waiting", "Calls that wait for a person's answer.")
	descSessions = describe("sessions", "Named sessions.")
	descMCPCalls = describe("http_requests_in_progress", "Requests to the MCP endpoint that are not answered yet.")
	descMCPUsers = describe("http_callers", "Callers who have such requests.")
	descDropped = describe("events_dropped_total", "Events of calls, tools and plugins that these numbers have missed, as too many came at once.")
	descLines = describe("audit_lines_total", "Lines that were put on record.")
	descUnwritten = describe("audit_failed_total", "Lines that could not be put on record.")
	descLag = describe("audit_lines_waiting", "Lines that wait in memory, as another process keeps the record locked.")
	descLastLine = describe("audit_last_line_timestamp_seconds", "When the newest line was put on record, in Unix time.")
	descCallers = describe("caller_calls", "Calls of a caller that have not ended, by state (running, waiting).", "caller", "state")
	descTraces = describe("traced_calls_total", "Calls by what became of their spans (sent, failed, dropped).", "result")
	descState = describe("plugin_state", "1 for the state that a plugin is in, 0 for the others.", "plugin", "state")
	descStarts = describe("plugin_starts_total", "Starts of a plugin's process since it was loaded or upgraded.", "plugin")
	descCrashes = describe("plugin_crashes_total", "Crashes of a plugin's process since it was loaded or upgraded.", "plugin")
	descRunning = describe("plugin_calls_running", "Calls that a plugin's process works on.", "plugin")
	descWaiting = describe("plugin_calls_waiting", "Calls that wait for their turn (limits.running).", "plugin")
	descUpgrades = describe("plugin_upgrades_total", "How often another binary, or other settings, took the place of those before.", "plugin")
	descSpare = describe("plugin_spare", "1 if a process of a plugin is kept warm.", "plugin")
	descCPU = describe("plugin_cpu_seconds_total", "Processor time of all processes that a plugin has had.", "plugin")
	descMemory = describe("plugin_memory_bytes", "Memory of a plugin's processes: of its control group without files that can be dropped, or what is resident.", "plugin")
	descMost = describe("plugin_memory_max_bytes", "The most that this was since the processes of now began, with files.", "plugin")
	descFiles = describe("plugin_descriptors", "Descriptors that a plugin's processes have open.", "plugin")
	descRefused = describe("plugin_refused_accesses_total", "Accesses that a plugin's sandbox refused, as far as the system tells: system calls and hosts, not files.", "plugin")
	descUpgrade = describe("plugin_upgrade_failed", "1 if a newer file or newer settings of a plugin could not be used.", "plugin")
	descHeld = describe("plugin_held", "1 if a change of a plugin waits for the operator.", "plugin")
	descWants = describe("plugin_wants_more", "1 if a plugin needs more than was accepted, and runs without.", "plugin")

	descFleetReached = describe("fleet_reached", "1 if the host is in its fleet, 0 if no NATS server is reached; absent: it has none.")
	descFleetHosts = describe("fleet_hosts", "Other hosts of the fleet, refused if they are not used.", "refused")
	descFleetTools = describe("fleet_tools", "Tools of other hosts that are mounted.")
	descFleetQueued = describe("fleet_queue_calls", "Durable calls of all hosts in the queue; absent: the host takes no part in it.")
	descFleetRunning = describe("fleet_queue_calls_running", "Durable calls that run on this host.")
	descFleetWaits = describe("fleet_queue_tool_calls", "Durable calls of the host's key that no worker has begun, by the tool's name where it runs.", "tool")
	descFleetBytes = describe("fleet_queue_bytes", "What all hosts keep of durable calls: their records (state) and results.", "kind")
	descFleetRoom = describe("fleet_queue_max_bytes", "The most that these may take; 0: there is no bound.", "kind")
	descFleetCalls = describe("fleet_calls_in_progress", "Calls of this host that other hosts of its fleet run.")
})

// Describe implements [prometheus.Collector].
func (states) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{
		descInfo, descSince, descTools, descFaults, descSkipped, descLeaving, descCalls, descApprovals,
		descSessions, descMCPCalls, descMCPUsers, descDropped, descLines, descUnwritten, descLag,
		descLastLine, descCallers, descTraces, descUpgrades, descSpare, descCPU, descMemory, descMost, descFiles, descRefused,
		descState, descStarts, descCrashes, descRunning, descWaiting, descUpgrade, descHeld, descWants,
		descFleetReached, descFleetHosts, descFleetTools, descFleetCalls, descFleetQueued, descFleetRunning,
		descFleetBytes, descFleetRoom, descFleetWaits,
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
	count := func(d *prometheus.Desc, value float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, value, labels...)
	}
	gauge(descInfo, 1, now.Version, now.Revision)
	gauge(descSince, float64(now.Since.UnixNano())/float64(time.Second))
	gauge(descTools, float64(now.Tools))
	gauge(descFaults, float64(len(now.Faults)))
	gauge(descSkipped, float64(len(now.Skipped)))
	gauge(descLeaving, float64(len(now.Leaving)))
	gauge(descCalls, float64(now.Calls))
	gauge(descApprovals, float64(snapshot.Asking))
	gauge(descSessions, float64(snapshot.Sessions))
	gauge(descMCPCalls, float64(snapshot.MCPRequests))
	gauge(descMCPUsers, float64(snapshot.MCPCallers))
	count(descDropped, float64(snapshot.Dropped))
	count(descLines, float64(snapshot.Lines))
	count(descUnwritten, float64(snapshot.Failed))
	gauge(descLag, float64(snapshot.Waiting))
	if !snapshot.LastLine.IsZero() {
		gauge(descLastLine, float64(snapshot.LastLine.UnixNano())/float64(time.Second))
	}
	for caller, l := range c.numbers.labelledLoads(snapshot.Callers) {
		gauge(descCallers, float64(l.Running), caller, "running")
		gauge(descCallers, float64(l.Waiting), caller, "waiting")
	}
	for result, n := range snapshot.Traces {
		count(descTraces, float64(n), result)
	}
	if f := now.Fleet; f != nil {
		gauge(descFleetReached, boolean(f.Reached()))
		gauge(descFleetHosts, float64(f.Hosts), "false")
		gauge(descFleetHosts, float64(f.Refused), "true")
		gauge(descFleetTools, float64(f.Tools))
		gauge(descFleetCalls, float64(f.Calls))
		if q := f.Queue; q != nil && q.Open {
			gauge(descFleetQueued, float64(q.Queued))
			gauge(descFleetRunning, float64(q.Running))
			for name, n := range q.Tools {
				gauge(descFleetWaits, float64(n), name)
			}
			for kind, l := range map[string]durable.Level{"results": q.Results, "state": q.State} {
				gauge(descFleetBytes, float64(l.Bytes), kind)
				gauge(descFleetRoom, float64(l.Max), kind)
			}
		}
	}
	for _, p := range now.Plugins {
		for _, state := range allStates {
			gauge(descState, boolean(p.State == state), p.Name, string(state))
		}
		count(descStarts, float64(p.Starts), p.Name)
		count(descCrashes, float64(p.Crashes), p.Name)
		count(descUpgrades, float64(p.Upgrades), p.Name)
		gauge(descSpare, boolean(p.Spare != 0), p.Name)
		if u := p.Usage; u != nil {
			count(descCPU, time.Duration(u.CPU).Seconds(), p.Name)
			gauge(descMemory, float64(u.Memory), p.Name)
			gauge(descMost, float64(u.MaxMemory), p.Name)
			gauge(descFiles, float64(u.Descriptors), p.Name)
			count(descRefused, float64(u.Refused), p.Name)
		}
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
