package metrics

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/activity"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/control"
	"github.com/toolhost/toolhost/host/audit"
	"github.com/toolhost/toolhost/host/fleet"
	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

func get(t *testing.T, h http.Handler, path string, change func(*http.Request)) (status int, body string) {
	t.Helper()
	r := httptest.NewRequest(http.MethodGet, "http://127.0.0.1:9464"+path, nil)
	if change != nil {
		change(r)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Code, w.Body.String()
}

// itself is for tools that have no other names.
func itself(name string) string { return name }

// ended is a call that has ended.
func ended(name, caller string, err error) policy.Event {
	return policy.Event{Call: tool.Call{Name: name}, Safety: tool.Safe, Caller: caller, Err: err, Duration: time.Millisecond}
}

func empty() *Numbers { return New(func() Snapshot { return Snapshot{} }, itself) }

func TestNumbers(t *testing.T) {
	t.Parallel()
	state := control.State{Version: "1", Revision: "abc+", Since: time.Now(), Tools: 3, Plugins: []plugin.Status{
		{Name: "fs", State: plugin.Ready, Starts: 2, Crashes: 1, Waiting: 4, Upgrades: 3, Spare: 7, Usage: &plugin.Usage{
			CPU: tool.Duration(1500 * time.Millisecond), Memory: 10, MaxMemory: 20, Descriptors: 30, Refused: 40,
		}},
		{Name: "bad", State: plugin.Quarantined, Upgrade: "why", WantsMore: &plugin.WantsMore{}},
	}}
	state.Fleet = &control.FleetState{State: fleet.HostReady, Hosts: 3, Refused: 1, Tools: 7, Calls: 2}
	state.Calls = 5
	n := New(func() Snapshot {
		return Snapshot{State: state, Asking: 6, Sessions: 1, MCPRequests: 2, MCPCallers: 1, Dropped: 9, Lines: 50, Failed: 8, Waiting: 7,
			LastLine: time.UnixMilli(1500), Traces: map[string]uint64{"sent": 4, "failed": 0, "dropped": 6}, Callers: map[string]activity.Load{"ci": {Running: 3, Waiting: 2}}}
	}, func(name string) string { return strings.Replace(name, "_", ".", 1) })
	well := ended("fs_read", "ci", nil)
	well.Phases = policy.Phases{
		Queued: tool.Duration(20 * time.Millisecond), Ran: tool.Duration(60 * time.Microsecond), Checked: -1, BytesIn: 10, BytesOut: 30,
	}
	n.Call(well)
	n.Call(ended("fs.read", "ci", &tool.Error{Code: tool.CodeCrashed}))
	n.Call(policy.Event{Call: tool.Call{Name: "made up"}, Err: &tool.Error{Code: tool.CodeNotFound}, Duration: -time.Second}) // a clock that jumps
	for _, code := range []tool.Code{"made up by a plugin", "and another"} {
		n.Call(ended("fs.read", "ci", &tool.Error{Code: code}))
	}
	failed := ended("fs.read", "", nil)
	failed.Result.IsError = true
	n.Call(failed)
	for approver, e := range map[string]policy.Event{
		"user 0": {Decision: audit.Approved}, "user 1": {Decision: audit.Denied, Err: &tool.Error{Code: tool.CodeApprovalDenied}},
		"timeout": {Decision: audit.Denied, Err: &tool.Error{Code: tool.CodeApprovalDenied}}, policy.Operator: {Decision: audit.Approved},
	} {
		e.Approver = approver
		n.Call(e)
	}
	n.Reload(nil)
	n.Client()
	n.TurnedAway("slow_down")
	n.Counting(http.NotFoundHandler()).ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/", http.NoBody))
	status, text := get(t, n.Handler(false), "/metrics", nil)
	for _, want := range []string{
		`toolhost_calls_total{caller="ci",code="ok",tool="fs.read"} 1`, `toolhost_calls_total{caller="ci",code="crashed",tool="fs.read"} 1`,
		`toolhost_calls_total{caller="(none)",code="not_found",tool="(unknown)"} 1`, `toolhost_calls_total{caller="ci",code="other",tool="fs.read"} 2`,
		`toolhost_calls_total{caller="(none)",code="tool_failed",tool="fs.read"} 1`,
		`toolhost_call_duration_seconds_bucket{tool="fs.read",le="0.001"} 5`, `toolhost_call_duration_seconds_bucket{tool="fs.read",le="0.00025"} 0`,
		`toolhost_call_phase_seconds_bucket{phase="ran",le="0.0001"} 1`, `toolhost_call_phase_seconds_count{phase="queued"} 1`,
		`toolhost_call_phase_seconds_count{phase="checked"} 0`, `toolhost_tool_phase_seconds_total{phase="queued",tool="fs.read"} 0.02`,
		`toolhost_call_bytes_total{direction="in",tool="fs.read"} 10`, `toolhost_call_bytes_total{direction="out",tool="fs.read"} 30`,
		`toolhost_approvals_total{answer="approved"} 1`, `toolhost_approvals_total{answer="denied"} 1`, `toolhost_approvals_total{answer="none"} 1`,
		`toolhost_reloads_total{result="ok"} 1`, `toolhost_reloads_total{result="failed"} 0`, "toolhost_mcp_clients_total 1",
		`toolhost_http_refusals_total{reason="slow_down"} 1`, `toolhost_http_requests_total{code="404"} 1`,
		"toolhost_http_requests_in_progress 2", "toolhost_http_callers 1", "toolhost_sessions 1", "toolhost_events_dropped_total 9",
		"toolhost_audit_lines_total 50", "toolhost_audit_failed_total 8", "toolhost_audit_lines_waiting 7",
		`toolhost_plugin_state{plugin="fs",state="ready"} 1`, `toolhost_plugin_state{plugin="fs",state="quarantined"} 0`,
		`toolhost_plugin_state{plugin="bad",state="quarantined"} 1`, `toolhost_plugin_starts_total{plugin="fs"} 2`,
		`toolhost_plugin_crashes_total{plugin="fs"} 1`, `toolhost_plugin_calls_waiting{plugin="fs"} 4`,
		`toolhost_plugin_upgrades_total{plugin="fs"} 3`, `toolhost_plugin_spare{plugin="fs"} 1`, `toolhost_plugin_spare{plugin="bad"} 0`,
		`toolhost_plugin_cpu_seconds_total{plugin="fs"} 1.5`, `toolhost_plugin_memory_bytes{plugin="fs"} 10`,
		`toolhost_plugin_memory_max_bytes{plugin="fs"} 20`, `toolhost_plugin_descriptors{plugin="fs"} 30`,
		`toolhost_plugin_refused_accesses_total{plugin="fs"} 40`,
		`toolhost_plugin_upgrade_failed{plugin="bad"} 1`, `toolhost_plugin_wants_more{plugin="bad"} 1`, `toolhost_plugin_wants_more{plugin="fs"} 0`, "toolhost_calls_in_progress 5", "toolhost_approvals_waiting 6",
		`toolhost_info{revision="abc+",version="1"} 1`,
		"toolhost_audit_last_line_timestamp_seconds 1.5", `toolhost_caller_calls{caller="ci",state="running"} 3`,
		`toolhost_caller_calls{caller="ci",state="waiting"} 2`, `toolhost_traced_calls_total{result="sent"} 4`,
		`toolhost_traced_calls_total{result="failed"} 0`, `toolhost_traced_calls_total{result="dropped"} 6`,
		"toolhost_fleet_reached 1", `toolhost_fleet_hosts{refused="false"} 3`, `toolhost_fleet_hosts{refused="true"} 1`,
		"toolhost_fleet_tools 7", "toolhost_fleet_calls_in_progress 2", "go_goroutines ",
	} {
		assert.Containsf(t, text, want, "there is no %s in", want)
	}
	assert.NotContainsf(t, text, `plugin_cpu_seconds_total{plugin="bad"}`, "what is not known is a number")
	assert.Equalf(t, status, http.StatusOK, "the status")
	families, err := n.registry.Gather() // as the text has none of the native ones
	require.NoError(t, err)
	native := 0
	for _, f := range families {
		for _, m := range f.GetMetric() {
			native += len(m.GetHistogram().GetPositiveSpan())
		}
	}
	if native == 0 {
		t.Error("there are no native histograms")
	}
}

// However many tools and callers come and go, whatever they are called, the number of series is bounded, and
// the numbers can be read.
func TestNumbersAreBounded(t *testing.T) {
	t.Parallel()
	loads := map[string]activity.Load{}
	n := New(func() Snapshot { return Snapshot{Callers: loads} }, itself)
	for i := range 10 * maxCallers {
		loads[fmt.Sprint("\x1b[31mload", i)] = activity.Load{Running: 1}
	}
	for i := range 3 * maxTools {
		n.Call(ended(fmt.Sprint("tool", i), "", nil))
	}
	for i := range 100_000 {
		n.Call(ended(fmt.Sprint("tool", i%maxTools), fmt.Sprint("subject", i), &tool.Error{Code: tool.Code(fmt.Sprint("made up", i))}))
		n.Call(policy.Event{Call: tool.Call{Name: fmt.Sprint("unknown", i)}, Err: &tool.Error{Code: tool.CodeNotFound}})
	}
	n.Call(ended("tool0", "subject0", nil))
	for _, name := range []string{"\xff\xfe", "</script><b>\n\u202eevil\x1b[31m\"}", strings.Repeat("x", 1<<20)} {
		m := empty()
		m.Call(ended("fs.read", name, nil))
		m.TurnedAway("slow_down")
		status, text := get(t, m.Handler(false), "/metrics", nil)
		if status != http.StatusOK || !strings.Contains(text, `code="ok",tool="fs.read"} 1`) || len(text) > 1<<17 || strings.ContainsAny(text, "\x1b\u202e") {
			t.Errorf("%.20q: %d, %d bytes", name, status, len(text))
		}
	}
	_, text := get(t, n.Handler(false), "/metrics", nil)
	if got := strings.Count(text, "\ntoolhost_call_duration_seconds_count{"); got != maxTools+2 {
		t.Errorf("%d tools", got)
	}
	if got := strings.Count(text, "\ntoolhost_calls_total{"); got < maxTools || got > maxPairs+2*maxCallers {
		t.Errorf("%d series of calls", got)
	}
	if got := strings.Count(text, `,state="running"}`); got != 1 || strings.Contains(text, "\x1b") {
		t.Errorf("%d callers have series of what runs, as there was no room", got)
	}
	for _, want := range []string{
		fmt.Sprintf(`toolhost_caller_calls{caller="(other)",state="running"} %d`, 10*maxCallers), `{caller="subject0",code="ok",tool="tool0"} 1`, `{caller="(none)",code="not_found",tool="(unknown)"} 100000`,
		fmt.Sprintf(`{caller="(none)",code="ok",tool="(other)"} %d`, 2*maxTools), `caller="(other)",code="other",tool="tool`,
	} {
		assert.Containsf(t, text, want, "there is no %s", want)
	}
	if len(n.names) > 2*maxTools+1 || len(n.callers) > maxCallers || len(n.pairs) > maxPairs+maxCallers+2 {
		t.Errorf("kept: %d names, %d callers, %d pairs", len(n.names), len(n.callers), len(n.pairs))
	}
}

// A name that leads to another tool than before counts for that one.
func TestChangedNames(t *testing.T) {
	t.Parallel()
	of := "fs.read"
	n := New(func() Snapshot { return Snapshot{} }, func(string) string { return of })
	n.Call(ended("read", "", nil))
	of = "other.read"
	n.ToolsChanged()
	n.Call(ended("read", "", nil))
	_, text := get(t, n.Handler(false), "/metrics", nil)
	for _, want := range []string{`tool="fs.read"} 1`, `tool="other.read"} 1`} {
		assert.Containsf(t, text, want, "there is no %s", want)
	}
}

// BenchmarkCall is what a call costs the hooks' goroutine.
func BenchmarkCall(b *testing.B) {
	n := empty()
	events := make([]policy.Event, 64)
	for i := range events {
		events[i] = ended(fmt.Sprint("tool", i%16), fmt.Sprint("caller", i), nil)
		events[i].Phases = policy.Phases{Sent: 9000, Ran: 40_000, Checked: 8000, Queued: 1000, BytesIn: 100, BytesOut: 1000}
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		n.Call(events[i%len(events)])
	}
}

// A web page gets nothing, whatever name it has for this machine.
func TestOnlyLocal(t *testing.T) {
	t.Parallel()
	n := empty()
	guarded := onlyLocal(n.Handler(true))
	for name, c := range map[string]struct {
		change func(*http.Request)
		want   int
	}{
		"a scraper":       {nil, http.StatusOK},
		"IPv6":            {func(r *http.Request) { r.Host = "[::1]:9464" }, http.StatusOK},
		"localhost":       {func(r *http.Request) { r.Host = "localhost:9464" }, http.StatusOK},
		"rebinding":       {func(r *http.Request) { r.Host = "evil.example:9464" }, http.StatusForbidden},
		"a name like it":  {func(r *http.Request) { r.Host = "127.0.0.1.evil.example" }, http.StatusForbidden},
		"another address": {func(r *http.Request) { r.Host = "192.0.2.1:9464" }, http.StatusForbidden},
		"no host":         {func(r *http.Request) { r.Host = "" }, http.StatusForbidden},
		"a page":          {func(r *http.Request) { r.Header.Set("Origin", "http://evil.example") }, http.StatusForbidden},
		"an image":        {func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "cross-site") }, http.StatusForbidden},
	} {
		if got, _ := get(t, guarded, "/metrics", c.change); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
	if got, _ := get(t, n.Handler(false), "/debug/pprof/", nil); got != http.StatusNotFound {
		t.Errorf("profiles that were not asked for: %d", got)
	}
	for _, seconds := range []string{"0", "-1", "61", "x", "NaN"} {
		if got, _ := get(t, guarded, "/debug/pprof/profile?seconds="+seconds, nil); got != http.StatusBadRequest {
			t.Errorf("a profile of %s seconds: %d", seconds, got)
		}
	}
}

func TestListen(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"", ":9464", "0.0.0.0:9464", "192.0.2.1:9464", "localhost:9464", "127.0.0.1", "[::]:1", "127.0.0.1:99999"} {
		if ln, err := Listen(address); err == nil {
			t.Errorf("%q is opened: %v", address, ln.Close())
		}
	}
	ln := require.Must(Listen("127.0.0.1:0"))(t)
	assert.NoError(t, ln.Close())
}

// Connections that say nothing do not keep the numbers from being read.
func TestSilentConnections(t *testing.T) {
	t.Parallel()
	ln := require.Must(Listen("127.0.0.1:0"))(t)
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- empty().Serve(ctx, ln, false) }()
	for range 10 * maxConnections {
		conn := require.Must(net.Dial("tcp", ln.Addr().String()))(t)
		defer func() { _ = conn.Close() }()
	}
	client := http.Client{Timeout: 5 * headerTimeout} // those that are silent would take twice as long
	resp, err := client.Get("http://" + ln.Addr().String() + "/metrics")
	require.NoError(t, err)
	defer func() { _ = resp.Body.Close() }()
	assert.Equalf(t, resp.StatusCode, http.StatusOK, "it answers %s", resp.Status)
	cancel()
	require.NoError(t, <-served)
}
