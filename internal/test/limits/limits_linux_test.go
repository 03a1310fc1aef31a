package limits_test

import (
	"strings"
	"testing"
	"time"

	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/cgroup"
	"github.com/toolhost/toolhost/internal/test/plugintest"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

const (
	// memoryCeiling is how much the host may grow.
	memoryCeiling = 20 << 20
	// slowCeiling is how many times longer the neighbour's calls may take on a machine that others
	// use, and shortest what they take at least: that they take twice as long is for the benchmark.
	slowCeiling = 20
	shortest    = 500 * time.Microsecond
)

// A plugin that takes too much is ended or slowed, and what ended it has a name. Its host does not
// grow, its neighbour answers meanwhile, and it can be called again. How much slower the neighbour
// is gets measured by .ci/long.
func TestLimits(t *testing.T) {
	t.Parallel()
	sandbox := plugin.Sandbox{
		Write: []string{tool.Workspace}, Net: []string{}, Exec: []string{"/bin/sleep"},
		Memory: 256 << 20, PIDs: 64, Files: 128, CPU: 0.5, Disk: 8 << 20,
	}
	tree := cgroup.Find()
	for name, c := range map[string]struct {
		by    cgroup.Limit // takes a control group
		ended string       // the limit that ends it; empty: it goes on
		code  tool.Code    // of a call that does not end the process
		says  string       // such a call; with ended: either
		alone bool         // without a PID namespace, whose first process no signal ends
		cpu   float64      // processors that it may use, if these are what it takes
	}{
		"memory":      {ended: "memory, 256 MiB"},
		"threads":     {by: cgroup.PIDs, ended: "pids, 64"},
		"processes":   {by: cgroup.PIDs, says: "resource temporarily unavailable", ended: "pids, 64"}, // the runtime may want a thread
		"descriptors": {says: "too many open files"},
		"processors":  {by: cgroup.CPU, cpu: 0.2}, // which a busy machine has to give
		"disk":        {code: tool.CodeResourceExhausted, says: "write large: file too large; the limit of its sandbox is disk, 8 MiB a file"},
		"disk-signal": {ended: "disk, 8 MiB a file", alone: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := tree.By(c.by); c.by != "" && err != nil {
				t.Skip(err)
			}
			j := job{Plugins: plugintest.Dir(t, taker, neighbour), Root: t.TempDir(), Sandbox: sandbox, Namespace: plugin.NamespaceAuto, Tool: name, Measure: !testing.Short()}
			if c.cpu > 0 {
				j.Sandbox.CPU = c.cpu
			}
			if c.alone {
				j.Namespace = plugin.NamespaceOff
			}
			out := j.runHost(t)
			t.Logf("%+v", out)
			starts := 1
			switch {
			case c.ended != "" && (c.says == "" || out.Code != ""):
				starts++
				if out.Code != tool.CodeResourceExhausted || !strings.Contains(out.Message, "ended by the limit of its sandbox: "+c.ended) {
					t.Errorf("the call ended with %s: %s", out.Code, out.Message)
				}
			case c.says != "" && (out.Code != c.code || !strings.Contains(out.Text+out.Message, c.says)):
				t.Errorf("the call ended with %s: %s%s, want %s", out.Code, out.Message, out.Text, c.says)
			case c.cpu > 0 && (out.Cores > 1.5*c.cpu || out.Throttled < throttledPeriods && out.Cores >= c.cpu):
				t.Errorf("it had %.2f processors, and waited for them in %d periods", out.Cores, out.Throttled)
			}
			if out.Starts != 1 || out.Again != starts {
				t.Errorf("the neighbour was started %d times, the plugin %d times, want 1 and %d", out.Starts, out.Again, starts)
			}
			if out.NeighbourCalls < neighbourCalls {
				t.Errorf("the neighbour answered %d times", out.NeighbourCalls)
			}
			if out.Grown > memoryCeiling {
				t.Errorf("the host grew by %d bytes", out.Grown)
			}
			if out.slow() {
				t.Errorf("the neighbour's p99 was %v, and %v before", out.During, out.Quiet)
			}
		})
	}
}
