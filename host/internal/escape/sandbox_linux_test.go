package escape_test

import (
	"iter"
	"testing"

	"github.com/toolhost/toolhost/host/internal/escape"
	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/cgroup"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// sandboxOf is what an operator says for a profile.
func sandboxOf(p escape.Profiles, w *world) plugin.Sandbox {
	if p == escape.Undeclared {
		return plugin.Sandbox{}
	}
	none := []string{}
	s := plugin.Sandbox{Read: none, Write: none, Net: none, Exec: none}
	switch p {
	case escape.WorkspaceRead:
		s.Read = []string{tool.Workspace}
	case escape.WorkspaceWrite:
		s.Write = []string{tool.Workspace}
	case escape.NetList:
		s.Net = []string{w.Listed}
	case escape.NetAny:
		s.Net = []string{tool.Any}
	case escape.ExecList:
		s.Exec = []string{w.Program}
	case escape.ExecAny:
		s.Exec = []string{tool.Any}
	}
	return s
}

// started is the probe in the sandbox of a profile, on a system.
func started(t *testing.T, w *world, p escape.Profiles, on escape.System, change func(*plugin.Sandbox)) *confined {
	t.Helper()
	return newConfined(t, w, func(c *plugin.Config) {
		c.Sandbox = sandboxOf(p, w)
		change(&c.Sandbox)
		c.Namespace = plugin.NamespaceOn
		if on == escape.Bare {
			c.Namespace = plugin.NamespaceOff
		}
	})
}

// only yields the attempts of groups that have limits, or of the others.
func only(limited bool) iter.Seq2[*escape.Group, escape.Attempt] {
	return func(yield func(*escape.Group, escape.Attempt) bool) {
		for g, a := range escape.Attempts() {
			if g.Limited == limited && !yield(g, a) {
				return
			}
		}
	}
}

// In each sandbox, each attempt ends as the table says.
func TestSandboxes(t *testing.T) {
	t.Parallel()
	withoutSandbox(t)
	for i, name := range escape.ProfileNames {
		profile := escape.Profiles(1) << i
		if profile == escape.NoSandbox {
			continue
		}
		for _, on := range []escape.System{escape.Namespaces, escape.Bare} {
			t.Run(name+"/"+string(on), func(t *testing.T) {
				t.Parallel()
				w := newWorld(t)
				got := results(t, w, started(t, w, profile, on, func(*plugin.Sandbox) {}), only(false))
				compare(t, profile, got, on)
			})
		}
	}
}

// Nothing takes more than its sandbox has.
func TestLimits(t *testing.T) {
	t.Parallel()
	withoutSandbox(t)
	for name, profile := range map[string]escape.Profiles{"undeclared": escape.Undeclared, "nothing": escape.Nothing} {
		for _, on := range []escape.System{escape.Namespaces, escape.Bare} {
			t.Run(name+"/"+string(on), func(t *testing.T) {
				t.Parallel()
				systems := []escape.System{on}
				if _, err := cgroup.Find().By(cgroup.PIDs); err != nil {
					systems = append(systems, escape.Ungrouped)
				}
				w := newWorld(t)
				got := results(t, w, started(t, w, profile, on, func(s *plugin.Sandbox) {
					s.Memory, s.PIDs, s.Files, s.Disk, s.CPU = escape.TakenMemory/2, escape.TakenProcesses/2, escape.TakenDescriptors-100, escape.TakenDisk-1, 0.1
				}), only(true))
				compare(t, profile, got, systems...)
			})
		}
	}
}
