package escape_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/pluginrun"
	"github.com/toolhost/toolhost/internal/sandbox"
	"github.com/toolhost/toolhost/internal/test/escape"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// featuresVariable has the features that this test's binary takes for the system's, when it
// runs again with some of them switched off.
const featuresVariable = "ESCAPE_TEST_FEATURES"

// simulate makes the features of the variable those of the system.
func simulate() error {
	text := os.Getenv(featuresVariable)
	if text == "" {
		return nil
	}
	var f sandbox.Features
	if err := json.Unmarshal([]byte(text), &f); err != nil {
		return err
	}
	sandbox.Detect = func() (sandbox.Features, error) { return f, nil }
	return nil
}

// Whatever mechanism is missing, the report of a sandbox is true: what a line says is enforced
// does not happen. With -short each mechanism is missing alone, from the sandboxes of [byDay] that are
// made of it: all of them with all that can be missing take two minutes of the processors.
func TestReportIsTrue(t *testing.T) {
	t.Parallel()
	if os.Getenv(featuresVariable) != "" {
		t.Skip("the features are given")
	}
	have := require.Must(sandbox.Detect())(t)
	off := map[string]func(f *sandbox.Features){
		"mounts":    func(f *sandbox.Features) { f.Mounts, f.Proc = false, false },
		"proc":      func(f *sandbox.Features) { f.Proc = false },
		"network":   func(f *sandbox.Features) { f.Network = false },
		"landlock":  func(f *sandbox.Features) { f.Landlock = 0 },
		"seccomp":   func(f *sandbox.Features) { f.Seccomp, f.Notify = false, false },
		"the stage": func(f *sandbox.Features) { *f = sandbox.Features{} },
	}
	if os.Geteuid() == 0 && !testing.Short() { // the rest is the same for all
		maps.Copy(off, map[string]func(f *sandbox.Features){
			"nothing":                 func(*sandbox.Features) {},
			"notify":                  func(f *sandbox.Features) { f.Notify = false },
			"mounts and landlock":     func(f *sandbox.Features) { f.Mounts, f.Proc, f.Landlock = false, false, 0 },
			"proc and landlock":       func(f *sandbox.Features) { f.Proc, f.Landlock = false, 0 },
			"network and seccomp":     func(f *sandbox.Features) { f.Network, f.Seccomp, f.Notify = false, false, false },
			"namespaces and seccomp":  func(f *sandbox.Features) { bare(f); f.Seccomp, f.Notify = false, false },
			"namespaces and landlock": func(f *sandbox.Features) { bare(f); f.Landlock = 0 },
			"all but namespaces":      func(f *sandbox.Features) { *f = sandbox.Features{Stage: true, Privileged: f.Privileged, User: f.User} },
			"all but the stage":       func(f *sandbox.Features) { *f = sandbox.Features{Stage: true} },
		})
		for abi := 1; abi <= have.Landlock; abi++ {
			off[fmt.Sprintf("namespaces and landlock after %d", abi)] = func(f *sandbox.Features) { bare(f); f.Landlock = abi }
		}
	}
	for name, change := range off {
		f := have
		change(&f)
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text := require.Must(json.Marshal(f))(t)
			self := require.Must(os.Executable())(t)
			profiles := ".*"
			if some := byDay[name]; testing.Short() && some != nil {
				profiles = strings.Join(some, "|")
			}
			cmd := exec.CommandContext(t.Context(), self, "-test.run=^TestReportOf$/^("+profiles+")$", "-test.parallel=1")
			cmd.Env = append(os.Environ(), featuresVariable+"="+string(text), builtVariable+"="+plugins(t))
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v without %s\n%s", err, name, out)
			}
		})
	}
}

func bare(f *sandbox.Features) {
	f.Privileged, f.User, f.Mounts, f.Proc, f.Network = false, false, false, false, false
}

// reported are the profiles whose reports are looked at: what the table has, and combinations of
// it that are confined in other ways.
var reported = func() map[string]report {
	none, all := []string{}, []string{tool.Any}
	is := func(s plugin.Sandbox) func(*world) plugin.Sandbox { return func(*world) plugin.Sandbox { return s } }
	out := map[string]report{
		"read-any": {0, is(plugin.Sandbox{Read: all, Write: none, Net: none, Exec: none})},
		"no-net":   {0, is(plugin.Sandbox{Net: none})},
	}
	for i, name := range escape.ProfileNames {
		if p := escape.Profiles(1) << i; p != escape.NoSandbox && p != escape.WorkspaceRead { // which is as the next one
			out[name] = report{p, func(w *world) plugin.Sandbox { return sandboxOf(p, w) }}
		}
	}
	return out
}()

// byDay are, for a mechanism, the profiles that need it in different ways.
var byDay = map[string][]string{
	"mounts":    {"nothing", "undeclared"},
	"proc":      {"nothing"},
	"network":   {"nothing", "net-list"},
	"landlock":  {"nothing", "exec-list"},
	"seccomp":   {"undeclared", "net-list"},
	"the stage": {"nothing"},
}

// report is of a profile. Of is that of the table, if it is there.
type report struct {
	of      escape.Profiles
	sandbox func(*world) plugin.Sandbox
}

// TestReportOf is run by TestReportIsTrue.
func TestReportOf(t *testing.T) {
	t.Parallel()
	if os.Getenv(featuresVariable) == "" {
		t.Skip("TestReportIsTrue runs it")
	}
	for name, profile := range reported {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.patience = 100 * time.Millisecond
			c := newConfined(t, w, func(c *pluginrun.Config) {
				c.Sandbox = profile.sandbox(w)
				ungrouped(&c.Sandbox)
				if !require.Must(sandbox.Detect())(t).Namespaces() {
					c.Namespace = plugin.NamespaceOff
				}
			})
			truthful(t, profile.of, c.plugin.Sandbox().Lines, results(t, w, c, only(unlimited)))
		})
	}
}

// truthful checks what the report of a sandbox said before the attempts against how they ended.
func truthful(t *testing.T, of escape.Profiles, report []plugin.SandboxLine, got map[string]escape.Answer) {
	t.Helper()
	lines := map[string]plugin.SandboxLine{}
	for _, line := range report {
		lines[line.Name] = line
	}
	open := map[string]bool{}
	for g, a := range escape.Attempts() {
		name := escape.LineOf(g, a)
		if got[a.Name].Outcome != escape.Done || name == "" || a.Done&(of|escape.Nothing) != 0 {
			continue
		}
		open[name] = true
		switch line, there := lines[name]; {
		case !there, line.Open == "" && !gives(line, a.Name):
			t.Errorf("%s was done, and the report says %+v", a.Name, line)
		}
	}
	for _, line := range lines {
		if line.Open != "" && !open[line.Name] {
			t.Errorf("nothing of what is open was done: %+v", line)
		}
	}
}

// gives reports whether a line says that something is possible, other than as a gap.
func gives(l plugin.SandboxLine, attempt string) bool {
	if l.Given == tool.Any || strings.HasPrefix(l.Given, "all ") {
		return true
	}
	for text, what := range map[string]string{
		"sockets of others": "unix-foreign", "sockets of others that it sees": "unix-inside", "ended first": "oom-score", "settings in /proc": "settings",
		"/bin/echo": "exec-loader", // which the program on the list needs
	} {
		if what == attempt && strings.Contains(l.Given, text) {
			return true
		}
	}
	return false
}
