package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/require"
)

// over asks the daemon over its socket.
func (w *world) over(path string) string {
	w.t.Helper()
	return body(w.t, clientOf(w.socket()), "http://toolhost"+path)
}

// clientOf returns a client of the daemon on a socket.
func clientOf(socket string) *http.Client {
	return &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(context.Context, string, string) (net.Conn, error) {
		return net.Dial("unix", socket)
	}}}
}

func body(t *testing.T, client *http.Client, url string) string {
	t.Helper()
	resp, err := client.Get(url)
	require.NoError(t, err)
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Errorf("%s: %s, %v: %s", url, resp.Status, err, text)
	}
	return string(text)
}

// What a monitor sees of a daemon that is well, has a crashing plugin, and ends.
func TestStatusAndStop(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "player")
	w.run("status").exits(6).says("no daemon is running on " + w.socket())
	w.run("stop").exits(6).says("no daemon is running")
	s := w.serve()
	w.run("status").exits(0).prints("well", "1 ready", w.root)
	for range 4 {
		w.run("call", "play.exit", `{"status":3}`).exits(6)
	}
	// The default log tells of all of it.
	s.await("[WARN]  toolhost: plugin crashed: event=crashed plugin=player reason=\"exit status 3\"")
	s.await("event=backoff plugin=player")
	w.install("quitter", "quitter")
	s.await("event=start_failed plugin=quitter")
	var status daemonStatus
	w.run("status", "--json").exits(1).json(&status)
	if status.Healthy || status.PID != s.cmd.Process.Pid || len(status.Problems) != 1 || !strings.Contains(status.Problems[0], "plugin quitter is refused") {
		t.Errorf("%+v", status)
	}
	w.run("status").exits(1).prints("not well", "problem: plugin quitter is refused")
	require.NoError(t, os.Remove(filepath.Join(w.plugins, "quitter")))
	w.install("fs", "fs")
	s.await("event=added plugin=fs")
	w.run("status").exits(0)
	require.NoError(t, os.Remove(filepath.Join(w.plugins, "fs")))
	s.await("event=removed plugin=fs")

	w.run("stop", "--json").exits(0).prints(`"stopped": true`)
	if _, err := os.Lstat(w.socket() + ".daemon"); err == nil { // it has ended, not only begun to
		t.Error("the daemon still has its socket")
	}
	for line := range s.lines {
		s.said = append(s.said, line)
	}
	_ = s.cmd.Wait()
	equal(t, "the exit status", s.cmd.ProcessState.ExitCode(), 0)
}

// Alone, a command's own error tells what has happened, and the log does not tell it again.
func TestEventsOfACommandAlone(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "player")
	if o := w.run("call", "play.exit", `{"status":3}`).exits(6); strings.Contains(o.stderr, "event=") {
		t.Errorf("it says %s", o.stderr)
	}
}

// With --json the daemon's log is JSON, from the first line to the last.
func TestServeLogsJSON(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "player", "quitter")
	w.found("nonsense: [\n")
	s := w.begin("--json")
	s.await("ready: 17 tools")
	w.run("call", "play.exit", `{"status":3}`, "--log-level", "info").exits(6).says("using the daemon")
	s.await(`"event":"crashed"`)
	s.ends(15, 0)
	events := map[string]bool{}
	for _, text := range s.said {
		var line struct {
			Message string `json:"@message"`
			Level   string `json:"@level"`
			Event   string
		}
		if err := json.Unmarshal([]byte(text), &line); err != nil || line.Message == "" || line.Level == "" {
			t.Errorf("not a line of the log: %s (%v)", text, err)
		}
		events[line.Event] = true
	}
	if !events["crashed"] || !events["note"] {
		t.Errorf("the events are %v of %q", events, s.said)
	}
	if o := w.bare("serve", "--json", "--drain", "-1s", "--plugin-dir", w.plugins); o.status != 2 || !strings.Contains(o.stderr, `"@level":"error"`) {
		t.Errorf("%d: %s", o.status, o.stderr)
	}
}

// Numbers and profiles are on the socket, and on a loopback address where that is asked for.
func TestMetrics(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "player")
	w.configure("metrics: {address: \"127.0.0.1:0\"}")
	s := w.serve()
	address := regexp.MustCompile(`http://127\.0\.0\.1:\d+`).FindString(strings.Join(s.said, "\n"))
	w.run("call", "play.echo").exits(0)
	w.run("call", "play.fail").exits(1)
	w.run("call", "play.nope").exits(3)
	w.until("the calls are counted", func() bool { return strings.Contains(w.over("/metrics"), `code="not_found"`) })
	for _, text := range []string{w.over("/metrics"), body(t, http.DefaultClient, address+"/metrics")} {
		for _, want := range []string{
			`toolhost_calls_total{caller="cli",code="ok",tool="play.echo"} 1`, `{caller="cli",code="tool_failed",tool="play.fail"} 1`,
			`{caller="cli",code="not_found",tool="(unknown)"} 1`, `toolhost_plugin_state{plugin="player",state="ready"} 1`,
			`toolhost_call_phase_seconds_count{phase="ran"} 2`, `toolhost_tool_phase_seconds_total{phase="ran",tool="play.echo"}`,
			`toolhost_plugin_cpu_seconds_total{plugin="player"} 0.`, `toolhost_plugin_descriptors{plugin="player"}`,
			"toolhost_audit_lines_total ", "toolhost_audit_failed_total 0", "toolhost_audit_last_line_timestamp_seconds 1.",
		} {
			assert.Containsf(t, text, want, "there is no %s in", want)
		}
	}
	reloaded := make(chan outcome, 1)
	go func() { // each scrape while the configuration changes is whole
		for i := range 3 {
			w.configure("metrics: {address: \"127.0.0.1:0\"}", fmt.Sprintf("plugins: {player: {limits: {running: %d}}}", i+1))
			reloaded <- w.run("reload")
		}
		close(reloaded)
	}()
	for open := true; open; {
		select {
		case o, more := <-reloaded:
			if open = more; more {
				o.exits(0)
			}
		default:
		}
		if text := w.over("/metrics"); !strings.Contains(text, `code="ok",tool="play.echo"} 1`) || !strings.Contains(text, `toolhost_plugin_starts_total{plugin="player"}`) {
			t.Errorf("during a reload:\n%s", text)
		}
	}
	w.until("the reloads are counted", func() bool { return strings.Contains(w.over("/metrics"), `toolhost_reloads_total{result="ok"} `) })
	assert.Containsf(t, w.over("/debug/pprof/goroutine?debug=1"), "goroutine profile", "the profile")
	resp, err := http.Get(address + "/debug/pprof/")
	require.NoError(t, err)
	_ = resp.Body.Close()
	equal(t, "profiles that were not asked for", resp.StatusCode, http.StatusNotFound)
	w.configure("metrics: {address: \"127.0.0.1:1\"}")
	s.await("metrics: a running daemon cannot change it")
	for _, address := range []string{"0.0.0.0:9464", "evil.example:80", "127.0.0.1"} {
		w.found("metrics: {address: \"" + address + "\"}\n")
		w.bare("config", "check").exits(1).prints("a loopback address with a port")
	}
}

// starting begins a daemon that waits for the MCP server late, which start lets go on.
func (w *world) starting(args ...string) (s *serving, start func()) {
	w.t.Helper()
	settings, at := w.lateServers("late")
	w.configure("callers: {cli: {approval: 'yes'}}", settings)
	fifo := filepath.Join(at["late"], "fifo")
	require.NoError(w.t, syscall.Mkfifo(fifo, 0o600))
	s = w.begin(append(args, "--config", w.config())...)
	w.until("it says what it waits for", func() bool {
		o := w.run("status")
		return o.status == 1 && strings.Contains(o.stdout, "problem: it is starting, and waits for late\n")
	})
	return s, func() { require.NoError(w.t, os.WriteFile(fifo, nil, 0o600)) }
}

// A daemon whose plugins take long says so, and does what needs only those that are there.
func TestDaemonThatStarts(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "player")
	s, start := w.starting()
	var status daemonStatus
	w.run("status", "--json", "--wait", "1ms").exits(1).json(&status)
	if status.Healthy || !status.Starting || status.PID != s.cmd.Process.Pid {
		t.Errorf("%+v", status)
	}
	w.run("plugins", "--config", w.config()).exits(0).prints("late", "starting").says("is starting, and does not have all tools yet")
	w.until("a tool that is there answers", func() bool {
		o := w.run("call", "play.echo", `{"text":"there"}`, "--config", w.config())
		return strings.Contains(o.exits(0).stdout, "there")
	})
	_, called := w.start("", "call", "late.t", "--plugin-dir", w.plugins, "--config", w.config())
	_, listed := w.start("", "tools", "--plugin-dir", w.plugins, "--config", w.config())
	start()
	(<-called).exits(0).prints("at last")
	(<-listed).exits(0).prints("play.echo", "late.t")
	s.await("toolhost: ready: ")
	w.run("status", "--wait", "1m").exits(0).prints("well")
}

// One can be ended, whatever it waits for.
func TestDaemonThatStartsEnds(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "player")
	s, _ := w.starting()
	_, called := w.start("", "call", "late.t", "--plugin-dir", w.plugins, "--config", w.config())
	w.until("the call waits", func() bool { return w.client().State().Calls > 0 || len(called) > 0 })
	w.run("stop").exits(0).prints("stopped the daemon")
	(<-called).exits(6).says("the daemon")
	for range s.lines { // until its end
	}
	_ = s.cmd.Wait()
	equal(t, "the exit status", s.cmd.ProcessState.ExitCode(), 0)
}
