package escape_test

import (
	"encoding/json"
	"iter"
	"os"
	"slices"
	"testing"

	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/cgroup"
	"github.com/toolhost/toolhost/internal/pluginrun"
	"github.com/toolhost/toolhost/internal/sandbox"
	"github.com/toolhost/toolhost/internal/test/escape"
	"github.com/toolhost/toolhost/internal/test/require"
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
	return newConfined(t, w, func(c *pluginrun.Config) {
		c.Sandbox = sandboxOf(p, w)
		change(&c.Sandbox)
		c.Namespace = plugin.NamespaceOn
		if on == escape.Bare {
			c.Namespace = plugin.NamespaceOff
		}
	})
}

// What a plugin declares bounds it as if the operator had said so, and strictly.
func TestDeclared(t *testing.T) {
	t.Parallel()
	if f := require.Must(sandbox.Detect())(t); !f.Mounts || !f.Proc || !f.Network || f.Landlock == 0 || !f.Seccomp {
		t.Skipf("this system does not enforce everything: %+v", f)
	}
	withoutSandbox(t)
	for i, name := range escape.ProfileNames {
		profile := escape.Profiles(1) << i
		if profile == escape.NoSandbox || profile == escape.Undeclared {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.protected = slices.DeleteFunc(w.protected, isMissing) // what is not there cannot be protected
			c := newConfined(t, w, func(c *pluginrun.Config) {
				s := sandboxOf(profile, w)
				text, err := json.Marshal(tool.Needs{Read: s.Read, Write: s.Write, Net: s.Net, Exec: s.Exec})
				require.NoError(t, err)
				c.Env = append(c.Env, escape.NeedsVariable+"="+string(text))
				c.Sandbox.Level, c.Namespace = plugin.Strict, plugin.NamespaceOn
			})
			if s := c.plugin.Sandbox(); s.Undeclared || len(s.Open()) > 0 {
				t.Errorf("its sandbox: %+v", s)
			}
			compare(t, profile, results(t, w, c, only(unlimited)), escape.Namespaces)
		})
	}
}

func isMissing(path string) bool {
	_, err := os.Lstat(path)
	return err != nil
}

// only yields the attempts of a kind.
func only(is func(*escape.Group, escape.Attempt) bool) iter.Seq2[*escape.Group, escape.Attempt] {
	return func(yield func(*escape.Group, escape.Attempt) bool) {
		for g, a := range escape.Attempts() {
			if is(g, a) && !yield(g, a) {
				return
			}
		}
	}
}

// unlimited are the attempts that take nothing of which there is only so much.
func unlimited(g *escape.Group, _ escape.Attempt) bool { return !g.Limited }

// ungrouped leaves out the control group, which ends with what is in it: not each system has one.
func ungrouped(s *plugin.Sandbox) { s.Memory, s.PIDs = -1, -1 }

// bothByDay are the profiles that each have a mechanism of their own, or none.
var bothByDay = []string{"undeclared", "nothing", "net-list", "exec-list"}

// In each sandbox, each attempt ends as the table says, and the report is true. With -short, what
// operators and plugins say is tried in namespaces for some profiles; TestDeclared tries the others in
// the same sandboxes.
func TestSandboxes(t *testing.T) {
	t.Parallel()
	withoutSandbox(t)
	for i, name := range escape.ProfileNames {
		profile := escape.Profiles(1) << i
		if profile == escape.NoSandbox {
			continue
		}
		for _, on := range []escape.System{escape.Namespaces, escape.Bare} {
			if testing.Short() && on == escape.Namespaces && !slices.Contains(bothByDay, name) {
				continue
			}
			t.Run(name+"/"+string(on), func(t *testing.T) {
				t.Parallel()
				w := newWorld(t)
				c := started(t, w, profile, on, ungrouped)
				report, got := c.plugin.Sandbox().Lines, results(t, w, c, only(unlimited))
				compare(t, profile, got, on)
				truthful(t, profile, report, got)
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
				// How long the others take does not depend on the processor that the last may take.
				of := func(computes bool, limit func(*plugin.Sandbox)) {
					w := newWorld(t)
					compare(t, profile, results(t, w, started(t, w, profile, on, limit), only(func(g *escape.Group, a escape.Attempt) bool {
						return g.Limited && (a.Proof == escape.RunsOn) == computes
					})), systems...)
				}
				of(true, func(s *plugin.Sandbox) { s.CPU = 0.1 })
				of(false, func(s *plugin.Sandbox) {
					s.Memory, s.PIDs, s.Files, s.Disk = escape.TakenMemory/2, escape.TakenProcesses/2, escape.TakenDescriptors-100, escape.TakenDisk-1
				})
			})
		}
	}
}
