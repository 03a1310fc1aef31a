package pluginrun_test

import (
	"errors"
	"os"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/cgroup"
	"github.com/toolhost/toolhost/internal/pluginrun"
	"github.com/toolhost/toolhost/internal/test/require"
)

// A plugin whose control group cannot be made, or not joined, although there can be one, does not start.
func TestNoControlGroup(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		create func(purpose string, l cgroup.Limits) (*cgroup.Group, error)
		why    string
	}{
		"none can be made": {func(string, cgroup.Limits) (*cgroup.Group, error) {
			return nil, errors.Join(errors.New("no group was made"), unix.ENOENT)
		}, "no group was made"},
		"it cannot be joined": {func(purpose string, l cgroup.Limits) (*cgroup.Group, error) {
			g, err := tree(t).Create(purpose, l)
			if err == nil {
				err = g.Close() // its directories are gone
			}
			return g, err
		}, "its control group cannot be joined: no such file or directory"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if strings.Contains(name, "joined") {
				tree(t)
			}
			p := open(t, boxed, func(cfg *pluginrun.Config) {
				pluginrun.WithGroups(cfg, c.create)
				cfg.Sandbox = plugin.Sandbox{PIDs: 64}
			})
			if _, err := p.List(t.Context()); err == nil || !strings.Contains(err.Error(), c.why) {
				t.Errorf("%v, want %s", err, c.why)
			}
		})
	}
}

// Nothing is left of the control group of a process that was not started.
func TestControlGroupOfFailedStart(t *testing.T) {
	t.Parallel()
	where := tree(t)
	var made []string
	p := open(t, boxed, func(c *pluginrun.Config) {
		c.Root, c.Sandbox = c.Root+"/missing", plugin.Sandbox{PIDs: 64}
		pluginrun.WithGroups(c, func(purpose string, l cgroup.Limits) (*cgroup.Group, error) {
			g, err := where.Create(purpose, l)
			files, done, entered := g.Enter(&syscall.SysProcAttr{})
			done()
			made = append(made, files...)
			return g, errors.Join(err, entered)
		})
	})
	if _, err := p.List(t.Context()); err == nil || !strings.Contains(err.Error(), "the workspace cannot be entered: no such file") {
		t.Error(err)
	}
	for _, path := range made {
		if _, err := os.Stat(path); err == nil {
			t.Error("left:", path)
		}
	}
	if len(made) == 0 {
		t.Error("no group was made")
	}
}

// tree is where a control group can be made that bounds processes.
func tree(t *testing.T) *cgroup.Tree {
	t.Helper()
	out := cgroup.Find()
	if _, err := out.By(cgroup.PIDs); err != nil {
		t.Skip(err)
	}
	return out
}

// Without limits of its own a plugin has 4,096 processes and half of the machine's memory.
func TestLimitsByDefault(t *testing.T) {
	t.Parallel()
	where := tree(t)
	var got cgroup.Limits
	p := open(t, boxed, func(c *pluginrun.Config) {
		pluginrun.WithGroups(c, func(purpose string, l cgroup.Limits) (*cgroup.Group, error) {
			got = l
			return where.Create(purpose, l)
		})
	})
	require.Must(p.List(t.Context()))(t)
	var machine unix.Sysinfo_t
	require.NoError(t, unix.Sysinfo(&machine))
	half := int64(machine.Totalram) * int64(machine.Unit) / 2
	if got.PIDs != 4096 || got.Memory != 0 && (got.Memory > half || got.Memory < half-1<<20) {
		t.Errorf("its control group has %+v, where half of the memory is %d", got, half)
	}
}
