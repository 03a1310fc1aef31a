package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/host/plugin"
)

// keys are what others read from latest.json.
var keys = []string{
	"p50_socket", "p50_stream", "p99_64_socket", "p99_64_stream", "tput64_socket", "tput64_stream", "cpu64_socket",
	"p50_64k", "p50_8m", "p99_behind_large", "cold_list_100", "cold_call", "cold_call_file", "cold_call_daemon",
	"version_cpu_ms", "allocations_at_start", "recovery", "upgrade_failed", "upgrade_p99", "goroutines_per_plugin",
	"mcp_stdio", "mcp_http", "mcp_mounted", "mcp_tput64_stdio", "mcp_tput64_http", "mcp_tput64_mounted", "mcp_cpu64_mounted_us", "mcp_cpu64_traced",
	"mcp_list_20_ms", "mcp_list_20_cold_ms", "tools_10k_first_ms", "tools_10k_later_ms", "tools_10k_mib", "register_10k_ms", "refresh_100k_ms",
	"p50_vs_mcp", "tput64_vs_mcp", "sandbox_start", "sandbox_call",
	"neighbour_p99_worst", "neighbour_p99_stderr_lines", "neighbour_p99_stderr_bytes", "neighbour_p99_stderr_json",
	"neighbour_p99_stdout", "neighbour_p99_log", "neighbour_p99_progress", "neighbour_p99_gigabyte", "neighbour_p99_results_8m",
	"neighbour_p99_crash", "neighbour_p99_hang", "neighbour_p99_stop", "neighbour_p99_cpu",
}

// The whole thing, in brief: every key comes out, and nothing stays behind.
func TestQuick(t *testing.T) {
	t.Parallel()
	s, err := parse([]string{"-quick"}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if s.out != "" {
		t.Errorf("a quick run would write to %s", s.out)
	}
	b, err := open(t.Context(), s, t.Output())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.close)
	r, err := b.measure(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Run("files", func(t *testing.T) {
		checkFiles(t, r)
	})

	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := b.measure(canceled); !errors.Is(err, context.Canceled) {
		t.Errorf("measuring when it is too late gives %v", err)
	}
	b.close()
	if _, err := os.Stat(b.dir); !os.IsNotExist(err) {
		t.Errorf("the temporary directory is still there: %v", err)
	}
	for _, v := range b.variants {
		if alive(v.pid) {
			t.Errorf("the child of %s, process %d, still runs", v.name, v.pid)
		}
	}
}

func alive(pid int) bool {
	p, err := os.FindProcess(pid)
	if err != nil {
		return false
	}
	defer p.Release() //nolint:errcheck // it is only looked at
	return p.Kill() == nil
}

func checkFiles(t *testing.T, r *report) {
	keys := slices.Clone(keys)
	dir := filepath.Join(t.TempDir(), "new")
	if err := r.write(dir); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "latest.json"))
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	markdown, err := os.ReadFile(filepath.Join(dir, "latest.md"))
	if err != nil {
		t.Fatal(err)
	}
	if hasQuota() {
		keys = append(keys, "neighbour_p99_cpu_quota")
	}
	if setSpare(&plugin.Settings{}) {
		keys = append(keys, "recovery_spare")
	}
	for _, key := range keys {
		if v, ok := got[key].(float64); !ok || v < 0 || v == 0 && key != "upgrade_failed" {
			t.Errorf("%s is %v, want a positive number", key, got[key])
		}
		if !strings.Contains(string(markdown), "| `"+key+"` |") {
			t.Errorf("%s is not in the tables", key)
		}
		delete(got, key)
	}
	for name, v := range got {
		if _, ok := v.(map[string]any); !ok {
			t.Errorf("%s is %v: a key that this test does not know", name, v)
		}
	}
	drawing, err := os.ReadFile(filepath.Join(dir, "latest.svg"))
	if err != nil || strings.Count(string(drawing), `class="own"`) != 11 {
		t.Errorf("the drawing has not four, four and three bars of ours in its panels: %v\n%s", err, drawing)
	}
}

func TestParse(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args   string
		rounds int
		out    string
		fails  bool
	}{
		{args: "", rounds: 12, out: defaultOut},
		{args: "-rounds 3 -out there", rounds: 3, out: "there"},
		{args: "-only latency", rounds: 12},
		{args: "-only latency -out there", rounds: 12, out: "there"},
		{args: "-quick -rounds 3 -out there", rounds: 1},
		{args: "-rounds 0", fails: true},
		{args: "latency", fails: true},
		{args: "-fast", fails: true},
	} {
		s, err := parse(strings.Fields(c.args), io.Discard)
		if (err != nil) != c.fails {
			t.Errorf("%q: %v", c.args, err)
		} else if err == nil && (s.rounds != c.rounds || s.out != c.out) {
			t.Errorf("%q gives %d rounds and %q, want %d and %q", c.args, s.rounds, s.out, c.rounds, c.out)
		}
	}
}

func TestOnlyNamesWhatThereIs(t *testing.T) {
	t.Parallel()
	for _, only := range []string{"latenzy", "("} {
		if _, err := open(t.Context(), settings{only: only}, io.Discard); err == nil {
			t.Errorf("-only %s is taken", only)
		}
	}
}
