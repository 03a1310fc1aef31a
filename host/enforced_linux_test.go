package host_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/journal"
	"github.com/toolhost/toolhost/internal/sandbox"
	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/plugintest"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// A start that would enforce less than the first one here is refused, in later hosts too, whether the
// plugin declares what it needs or not, until the operator accepts that. What can be enforced again then
// counts again.
func TestNoStartEnforcesLess(t *testing.T) {
	t.Parallel()
	if f := require.Must(sandbox.Detect())(t); !f.Namespaces() || !f.Network {
		t.Skip("this system has no namespaces to do without")
	}
	for name, c := range map[string]struct{ version, falls, first string }{
		"declared":   {"1" + needsA, "net (a.example:443): it was enforced by network namespace, seccomp, and now there is no network namespace", ""},
		"undeclared": {"1", "processes (its own", "read, write, exec, net are left to it, as it declares no needs; plugins.versioned.sandbox closes them"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, state := t.TempDir(), t.TempDir()
			plugintest.Deploy(t, dir, "versioned", c.version)
			// start starts a host and the plugin, and reports why that is refused.
			start := func(n plugin.Namespace) (*host.Host, *logbook, error) {
				t.Helper()
				var log logbook
				h := newHost(t, host.WithState(state), host.WithDefaults(func(all *plugin.Settings) {
					all.Namespace = n
				}), host.WithLogger(log.logger()))
				_, err := h.Load(t.Context(), dir)
				return h, &log, err
			}
			starts := func(n plugin.Namespace) *logbook {
				t.Helper()
				h, log, err := start(n)
				if err != nil || version(t, h) != "1" {
					t.Errorf("%s: %v", n, err)
				}
				require.NoError(t, h.Close(t.Context()))
				return log
			}
			if log := starts(plugin.NamespaceAuto); c.first != "" && log.having(c.first) != 1 {
				t.Errorf("the first start says %q", log.kept)
			}
			if log := starts(plugin.NamespaceAuto); log.having("for the first time") != 0 {
				t.Errorf("the second start says %q", log.kept)
			}
			h, log, err := start(plugin.NamespaceOff)
			if tool.CodeOf(err) != tool.CodeUnavailable || !strings.Contains(err.Error(), c.falls) || !strings.Contains(err.Error(), "Host.AcceptSandbox for versioned") {
				t.Errorf("it is not refused: %v", err)
			}
			if s := pluginOf(h, "versioned"); s.State != plugin.Refused || !strings.Contains(s.Reason, c.falls) || s.PID != 0 {
				t.Errorf("its status is %+v", s)
			}
			require.Eventually(t, "the event", func() bool { return log.count(journal.EnforcesLess) > 0 })
			if s, _ := h.Sandbox("versioned"); len(s.Less) == 0 {
				t.Errorf("its sandbox is %+v", s)
			}
			for range 5 { // it does not count as a failure, after which the plugin would have to wait
				err := h.RestartPlugin(t.Context(), "versioned")
				if s := pluginOf(h, "versioned"); tool.CodeOf(err) != tool.CodeUnavailable || s.State != plugin.Refused {
					t.Errorf("it runs, or waits: %v, %+v", err, s)
				}
			}
			require.NoError(t, h.AcceptSandbox(t.Context(), "versioned"))
			assert.Equalf(t, version(t, h), "1", "another version answers")
			require.NoError(t, h.Close(t.Context()))
			starts(plugin.NamespaceOff)
			starts(plugin.NamespaceAuto)
			if _, _, err := start(plugin.NamespaceOff); err == nil || !strings.Contains(err.Error(), c.falls) {
				t.Errorf("what is enforced again does not count: %v", err)
			}
		})
	}
}

// having is how many lines have a text.
func (l *logbook) having(text string) (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, said := range l.kept {
		if strings.Contains(said, text) {
			n++
		}
	}
	return n
}

// What the operator opens does not count as a fall, nor does a lock that is not there yet.
func TestWhatTheOperatorOpens(t *testing.T) {
	t.Parallel()
	dir, state, root := t.TempDir(), t.TempDir(), t.TempDir()
	plugintest.Deploy(t, dir, "versioned", "1"+needsA)
	for _, given := range []plugin.Sandbox{
		{}, {Net: []string{tool.Any}}, {Net: []string{tool.Any}, Memory: 4 << 30, PIDs: -1}, {Level: plugin.NoSandbox}, {Net: []string{}}, {},
	} {
		opts := []host.Option{host.WithRoot(root), host.WithState(state), host.WithDefaults(func(all *plugin.Settings) {
			all.Sandbox = given
		}), host.WithLocks(host.Lock{File: filepath.Join(root, "toolhost.lock")})}
		h := newHost(t, opts...)
		if _, err := h.Load(t.Context(), dir); err != nil {
			t.Errorf("%+v: %v", given, err)
		}
		require.NoError(t, h.Close(t.Context()))
	}
}
