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

	"github.com/toolhost/toolhost/cmd/toolhost/internal/control"
	"github.com/toolhost/toolhost/host/fleet"
	"github.com/toolhost/toolhost/host/plugin"
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

func TestNumbers(t *testing.T) {
	t.Parallel()
	state := control.State{Version: "1", Revision: "abc+", Since: time.Now(), Tools: 3, Plugins: []plugin.Status{
		{Name: "fs", State: plugin.Ready, Starts: 2, Crashes: 1, Waiting: 4}, {Name: "bad", State: plugin.Quarantined, Upgrade: "why", WantsMore: &plugin.WantsMore{}},
	}}
	state.Fleet = &control.FleetState{State: fleet.HostReady, Hosts: 3, Refused: 1, Tools: 7, Calls: 2}
	state.Calls = 5
	n := New(func() Snapshot { return Snapshot{State: state, Asking: 6} })
	n.Call("fs.read", "", 20*time.Millisecond)
	n.Call("fs.read", tool.CodeCrashed, time.Second)
	n.Call("", tool.CodeNotFound, 0)
	n.Call("fs.read", "made up by a plugin", 0)
	n.Reload(nil)
	status, text := get(t, n.Handler(false), "/metrics", nil)
	for _, want := range []string{
		`toolhost_calls_total{code="ok",tool="fs.read"} 1`, `toolhost_calls_total{code="crashed",tool="fs.read"} 1`,
		`toolhost_calls_total{code="not_found",tool="(unknown)"} 1`, `toolhost_calls_total{code="other",tool="fs.read"} 1`,
		`toolhost_call_duration_seconds_bucket{tool="fs.read",le="0.025"} 2`, `toolhost_reloads_total{result="ok"} 1`,
		`toolhost_plugin_state{plugin="fs",state="ready"} 1`, `toolhost_plugin_state{plugin="fs",state="quarantined"} 0`,
		`toolhost_plugin_state{plugin="bad",state="quarantined"} 1`, `toolhost_plugin_starts_total{plugin="fs"} 2`,
		`toolhost_plugin_crashes_total{plugin="fs"} 1`, `toolhost_plugin_calls_waiting{plugin="fs"} 4`,
		`toolhost_plugin_upgrade_failed{plugin="bad"} 1`, `toolhost_plugin_wants_more{plugin="bad"} 1`, `toolhost_plugin_wants_more{plugin="fs"} 0`, "toolhost_calls_in_progress 5", "toolhost_approvals_waiting 6",
		`toolhost_info{revision="abc+",version="1"} 1`,
		"toolhost_fleet_reached 1", `toolhost_fleet_hosts{refused="false"} 3`, `toolhost_fleet_hosts{refused="true"} 1`,
		"toolhost_fleet_tools 7", "toolhost_fleet_calls_in_progress 2", "go_goroutines ",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("there is no %s in\n%s", want, text)
		}
	}
	if status != http.StatusOK {
		t.Errorf("the status is %d", status)
	}
}

// However many tools come and go, the number of series is bounded.
func TestNumbersAreBounded(t *testing.T) {
	t.Parallel()
	n := New(func() Snapshot { return Snapshot{} })
	for i := range 3 * maxTools {
		n.Call(fmt.Sprint("tool", i), "", 0)
	}
	n.Call("tool0", "", 0)
	_, text := get(t, n.Handler(false), "/metrics", nil)
	if got := strings.Count(text, "\ntoolhost_calls_total{"); got != maxTools+1 {
		t.Errorf("%d series of calls", got)
	}
	for _, want := range []string{`toolhost_calls_total{code="ok",tool="tool0"} 2`, fmt.Sprintf(`toolhost_calls_total{code="ok",tool="(other)"} %d`, 2*maxTools)} {
		if !strings.Contains(text, want) {
			t.Errorf("there is no %s", want)
		}
	}
}

// A web page gets nothing, whatever name it has for this machine.
func TestOnlyLocal(t *testing.T) {
	t.Parallel()
	n := New(func() Snapshot { return Snapshot{} })
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
	if err := ln.Close(); err != nil {
		t.Error(err)
	}
}

// Connections that say nothing do not keep the numbers from being read.
func TestSilentConnections(t *testing.T) {
	t.Parallel()
	ln := require.Must(Listen("127.0.0.1:0"))(t)
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- New(func() Snapshot { return Snapshot{} }).Serve(ctx, ln, false) }()
	for range 10 * maxConnections {
		conn := require.Must(net.Dial("tcp", ln.Addr().String()))(t)
		defer func() { _ = conn.Close() }()
	}
	client := http.Client{Timeout: 5 * headerTimeout} // those that are silent would take twice as long
	resp, err := client.Get("http://" + ln.Addr().String() + "/metrics")
	require.NoError(t, err)
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		t.Errorf("it answers %s", resp.Status)
	}
	cancel()
	require.NoError(t, <-served)
}
