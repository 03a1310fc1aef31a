package pluginrun_test

import (
	"context"
	"fmt"
	"os/exec"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/cgroup"
	"github.com/toolhost/toolhost/internal/pluginrun"
	"github.com/toolhost/toolhost/internal/test/plugintest"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// spender is a plugin that uses processors, itself or by a program that it starts and does not wait for, and opens
// descriptors; portion is how much of each.
const (
	spender plugintest.Mode = "spender"
	spends                  = "spends"
	portion                 = 100 * time.Millisecond
	files                   = 40
)

func init() {
	spend := func() {
		used := func() time.Duration {
			var u unix.Rusage
			_ = unix.Getrusage(unix.RUSAGE_SELF, &u)
			return time.Duration(u.Utime.Nano() + u.Stime.Nano())
		}
		for until := used() + portion; used() < until; {
		}
	}
	ownModes[spends] = func() { spend(); time.Sleep(time.Hour) }
	ownModes[spender] = func() {
		pluginsdk.Main(
			pluginsdk.Func("spend.itself", "Uses a processor.", func(context.Context, none) (string, error) { spend(); return "", nil }),
			pluginsdk.Func("spend.child", "Starts what does.", func(context.Context, none) (string, error) {
				child := exec.Command("/proc/self/exe") //nolint:noctx // it outlives the call
				child.Args[0] = spends                  // a mode is named by it
				return "", child.Start()
			}),
			pluginsdk.Func("spend.files", "Opens files.", func(context.Context, none) (string, error) {
				for range files {
					if _, err := unix.Dup(1); err != nil {
						return "", err
					}
				}
				return "", nil
			}),
		)
	}
}

// What a plugin uses is counted by its control group or, without one, by its processes; that of runs that have
// ended stays counted.
func TestUsage(t *testing.T) {
	t.Parallel()
	_, noGroup := cgroup.Find().By(cgroup.Memory)
	for name, c := range map[string]struct {
		change func(*pluginrun.Config)
		group  bool
	}{
		"a group": {func(*pluginrun.Config) {}, noGroup == nil},
		"processes": {func(c *pluginrun.Config) {
			pluginrun.WithGroups(c, func(string, cgroup.Limits) (*cgroup.Group, error) { return &cgroup.Group{}, nil })
		}, false},
		"no sandbox":   {func(c *pluginrun.Config) { c.Sandbox.Level = plugin.NoSandbox }, false},
		"no namespace": {func(c *pluginrun.Config) { c.Sandbox.Level, c.Namespace = plugin.NoSandbox, plugin.NamespaceOff }, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			usage := new(pluginrun.Usage)
			p := open(t, spender, c.change, func(c *pluginrun.Config) { c.Usage = usage })
			if now := usage.Now(); now != nil {
				t.Errorf("before it runs: %+v", now)
			}
			var last tool.Duration
			reaches := func(what string, least int, more func(plugin.Usage) bool) {
				t.Helper()
				require.Eventually(t, fmt.Sprint(what, ": ", last), func() bool {
					now := usage.Now()
					if now == nil || now.CPU < last {
						t.Fatalf("%s: %+v after %v", what, now, last)
					}
					last = now.CPU
					return last >= tool.Duration(time.Duration(least)*portion*8/10) && more(*now) // ticks are rounded down
				})
			}
			runs := func(u plugin.Usage) bool {
				return u.Memory > 1<<20 && u.Memory < 1<<30 && u.MaxMemory >= u.Memory && u.Descriptors > 3 && u.Group == c.group
			}
			call(t, p, "spend.itself", "{}")
			reaches("itself", 1, runs)
			call(t, p, "spend.files", "{}")
			reaches("files", 1, func(u plugin.Usage) bool { return runs(u) && u.Descriptors > files })
			call(t, p, "spend.child", "{}")
			reaches("a child", 2, runs)
			kill(t, p.Status().PID)
			require.Eventually(t, "it has ended", func() bool { return p.Status().Crashes == 1 })
			call(t, p, "spend.itself", "{}")
			reaches("another run", 3, runs)
			require.NoError(t, p.Close(context.Background()))
			reaches("at its end", 3, func(u plugin.Usage) bool { return u.Memory == 0 && u.Descriptors == 0 && !u.Group })
		})
	}
}
