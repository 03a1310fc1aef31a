package view

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/toolhost/toolhost/internal/test/require"
	daemonv1 "github.com/toolhost/toolhost/proto/toolhost/daemon/v1"
)

var update = flag.Bool("update", false, "write the golden screens")

func TestMain(m *testing.M) {
	time.Local = time.UTC
	os.Exit(m.Run())
}

const ms = int64(time.Millisecond)

// sample is a busy daemon: what it tells first, and a second later.
func sample() *Data {
	now := time.Date(2026, 11, 27, 14, 3, 21, 0, time.UTC)
	run := func(id, tool, plugin, caller, phase string, age time.Duration) *daemonv1.RunningCall {
		return &daemonv1.RunningCall{Id: id, Tool: tool, Plugin: plugin, Caller: caller, Phase: phase, Begun: timestamppb.New(now.Add(-age)), Via: "mcp", Client: "claude-code 2.1", Session: "KOK2TGA4YNHFRGO4"}
	}
	end := func(id, tool, plugin, caller, code, message string, took, ago time.Duration, p *daemonv1.Phases) *daemonv1.EndedCall {
		return &daemonv1.EndedCall{Id: id, Tool: tool, Plugin: plugin, Caller: caller, Code: code, Message: message, TookNs: int64(took), Begun: timestamppb.New(now.Add(-ago - took)), Phases: p, Client: "claude-code 2.1"}
	}
	plugin := func(name, kind, state string, calls int32, cpu, memory int64) *daemonv1.PluginSum {
		return &daemonv1.PluginSum{Name: name, Kind: kind, State: state, Calls: calls, Ended: 120, P50Ns: 2 * ms, P99Ns: 41 * ms, Starts: 1, CpuNs: cpu, MemoryBytes: memory, Descriptors: 12, Pid: 4711}
	}
	first := &daemonv1.Activity{Time: timestamppb.New(now.Add(-time.Second)), Plugins: []*daemonv1.PluginSum{plugin("fs", "", "ready", 0, 1000*ms, 30<<20)}}
	for i := range 60 {
		first.Latency = append(first.Latency, &daemonv1.Latency{Ended: int64(300 + 100*(i%7)), Failed: int64(i % 20 / 15), P50Ns: ms, P99Ns: int64(20+i%11) * ms})
	}
	crashed := plugin("weather", "", "quarantined", 0, 0, 0)
	crashed.Crashes, crashed.Reason = 5, "it crashed 5 times: exit status 2"
	second := &daemonv1.Activity{
		Time: timestamppb.New(now), RunningTotal: 6, EndedTotal: 1_204_331, FailedTotal: 312, DroppedTotal: 7, Approvals: 1,
		Running: []*daemonv1.RunningCall{
			run("k3v9x2mq-1", "fs.delete", "fs", "build", "asked", 133*time.Second), run("k3v9x2mq-2", "天気.予報の取得について", "weather", "ünïcode", "started", 8*time.Second),
			run("k3v9x2mq-3", "sql.query", "sql", "nightly", "ran", 2700*time.Millisecond), run("k3v9x2mq-4", "sql.query", "sql", "nightly", "queued", 1900*time.Millisecond),
			run("k3v9x2mq-5", "fleet.render", "fleet", "build", "ran", 412*time.Millisecond), run("k3v9x2mq-6", "fs.read", "fs", "cli", "ran", 300*time.Microsecond),
		},
		Ended: []*daemonv1.EndedCall{
			end("k3v9x2mq-7", "sql.query", "sql", "nightly", "deadline_exceeded", "tool sql.query did not answer within 10s", 10*time.Second, 200*time.Millisecond, &daemonv1.Phases{QueuedNs: 9000 * ms, Ahead: 4, Own: 1, SentNs: ms, RanNs: 999 * ms}),
			end("k3v9x2mq-8", "fs.read", "fs", "build", "", "", 40*time.Millisecond, 900*time.Millisecond, &daemonv1.Phases{RanNs: 39 * ms, BytesOut: 20 << 10}),
		},
		Callers: []*daemonv1.CallerSum{{Name: "build", Running: 1, Waiting: 1, Ended: 120, Failed: 1}, {Name: "nightly", Running: 1, Waiting: 1, Ended: 300, Failed: 9}, {Name: "cli", Running: 1, Ended: 2}, {Name: "ünïcode", Waiting: 1}},
		Plugins: []*daemonv1.PluginSum{plugin("fs", "", "ready", 2, 1420*ms, 31<<20), plugin("sql", "mcp", "ready", 1, 0, 0), crashed, {Name: "fleet", Kind: "host", Ended: 3, P50Ns: 400 * ms, P99Ns: 900 * ms}},
		Latency: []*daemonv1.Latency{{Ended: 422, Failed: 10, P50Ns: ms, P99Ns: 41 * ms}},
	}
	return (*Data)(nil).With(first, true).With(second, false)
}

// The screens are as they were looked at, and every line has its width.
func TestScreens(t *testing.T) {
	t.Parallel()
	for _, size := range [][2]int{{20, 24}, {40, 10}, {40, 24}, {80, 24}, {120, 40}, {300, 50}} {
		for _, color := range []bool{false, true} {
			s := &Screen{Title: "/srv/shop  pid 4711", Color: color}
			lines := s.Draw(sample(), size[0], size[1])
			if len(lines) > size[1] {
				t.Errorf("%v: it has %d lines", size, len(lines))
			}
			for _, line := range lines {
				if n := ansi.StringWidth(line); n != size[0] && size[0] >= MinWidth || n > size[0] {
					t.Errorf("%v: a line has %d columns: %q", size, n, line)
				}
			}
			golden(t, fmt.Sprintf("%dx%d%s", size[0], size[1], map[bool]string{true: "-color"}[color]), lines)
		}
	}
	golden(t, "print", Print(sample(), "/srv/shop  pid 4711", 120))
	var whole []string
	s := &Screen{}
	for _, key := range []string{"1", "2", "4"} {
		s.Move(sample(), key)
		row, _ := s.Chosen(sample())
		p := sample().Whole(row)
		whole = append(append(whole, "== "+p.Title), p.Lines...)
	}
	golden(t, "whole", whole)
}

// golden compares lines with a file in testdata. With -update it writes it.
func golden(t *testing.T, name string, lines []string) {
	t.Helper()
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ") // editors remove it
	}
	file, text := filepath.Join("testdata", name), strings.Join(lines, "\n")+"\n"
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	}
	if want, err := os.ReadFile(file); err != nil || string(want) != text {
		t.Errorf("%s: %v\n%s\nwant\n%s", name, err, text, want)
	}
}
