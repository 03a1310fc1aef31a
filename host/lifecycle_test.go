package host_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/plugintest"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// lively is a host with the plugin [plugintest.Lively], and its workspace.
type lively struct {
	*host.Host

	t    *testing.T
	root string
}

func openLively(t *testing.T, opts ...host.Option) *lively {
	t.Helper()
	l := &lively{t: t, root: t.TempDir()}
	dir := plugintest.Dir(t, plugintest.Lively)
	l.Host = newHost(t, append(opts, host.WithRoot(l.root))...)
	require.Must(l.Load(t.Context(), dir))(t)
	return l
}

// says waits until a file of the workspace has a text.
func (l *lively) says(name, want string) {
	l.t.Helper()
	require.Eventually(l.t, fmt.Sprintf("%s has %q", name, want), func() bool {
		have, _ := os.ReadFile(filepath.Join(l.root, name))
		return string(have) == want
	})
}

func (l *lively) status() plugin.Status { return l.Plugins()[0] }

// becomes waits for a state of the plugin.
func (l *lively) becomes(state plugin.State, reason string) {
	l.t.Helper()
	require.Eventually(l.t, fmt.Sprintf("it is %s: %s", state, reason), func() bool {
		s := l.status()
		return s.State == state && strings.Contains(s.Reason, reason)
	})
}

// A plugin is told of the end of a session that has called it, once, when its calls have ended too.
// It is not started for that, and other sessions are as they were.
func TestSessionEnds(t *testing.T) {
	t.Parallel()
	l := openLively(t)
	visit := func(s *host.Session, want string) {
		t.Helper()
		if out := s.Call(t.Context(), tool.Call{Name: "lively.visit"}); out.Content != want {
			t.Errorf("got %q, want %q: %+v", out.Content, want, out)
		}
	}
	one, two, never := l.Session(), l.Session(), l.Session()
	visit(one, "1 of 1")
	visit(two, "1 of 2")
	visit(one, "2 of 2")
	_ = never.Close(t.Context())
	var call sync.WaitGroup
	call.Go(func() {
		out := one.Call(t.Context(), tool.Call{Name: "lively.hold", Arguments: []byte(`{"file":"let-go"}`)})
		assert.Equalf(t, out.Content, "held", "%+v", out)
	})
	require.Eventually(t, "the call runs", func() bool { return l.status().Calls == 1 })
	_ = one.Close(t.Context())
	_ = one.Close(t.Context())
	visit(two, "2 of 2")
	require.NoError(t, os.WriteFile(filepath.Join(l.root, "let-go"), nil, 0o600))
	call.Wait()
	l.says("ended", one.ID()+"\n")
	visit(two, "3 of 1")
	require.NoError(t, syscall.Kill(l.status().PID, syscall.SIGKILL))
	require.Eventually(t, "its process is gone", func() bool { return l.status().PID == 0 })
	starts := l.status().Starts
	_ = two.Close(t.Context())
	if s := l.status(); s.Starts != starts || s.PID != 0 {
		t.Errorf("the end of a session starts the plugin: %+v", s)
	}
	l.says("ended", one.ID()+"\n")
}

// What a plugin says of its health is its state, and calls go on.
func TestPluginSaysHowItIs(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	health := filepath.Join(root, "health")
	require.NoError(t, os.WriteFile(health, []byte("the login has \x1b[31mexpired\n"), 0o600))
	dir := plugintest.Dir(t, plugintest.Lively)
	l := &lively{t: t, root: root, Host: newHost(t, host.WithRoot(root))}
	require.Must(l.Load(t.Context(), dir))(t)
	s := l.Session()
	for _, c := range []struct{ health, reason string }{{"", "the login has"}, {"panic", "out of order"}, {"hang", "does not answer"}} {
		if c.health != "" {
			require.NoError(t, os.WriteFile(health, []byte(c.health), 0o600))
			if err := l.RestartPlugin(t.Context(), "lively"); err != nil { // it is asked at its start
				t.Fatal(err)
			}
		}
		if out := s.Call(t.Context(), tool.Call{Name: "lively.visit"}); !out.Success {
			t.Errorf("%+v", out)
		}
		l.becomes(plugin.Degraded, c.reason)
		if out := s.Call(t.Context(), tool.Call{Name: "lively.visit"}); !out.Success || l.status().State != plugin.Degraded {
			t.Errorf("an answer does not make it well: %+v, %+v", out, l.status())
		}
	}
	if why := l.status().Reason; strings.Contains(why, "\x1b") {
		t.Errorf("%q can change a terminal", why)
	}
}

// A plugin finishes what it does for itself, once, when the host stops it or it gets SIGTERM.
func TestShutdownFinishes(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(l *lively){
		"the host closes": func(l *lively) { _ = l.Close(context.Background()) },
		"it is restarted": func(l *lively) { _ = l.RestartPlugin(context.Background(), "lively") },
		"it gets SIGTERM": func(l *lively) { _ = syscall.Kill(l.status().PID, syscall.SIGTERM) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := openLively(t, host.WithPluginSettings(func(_ string, s *plugin.Settings) { s.Namespace = plugin.NamespaceOff }))
			if out := l.Session().Call(t.Context(), tool.Call{Name: "lively.visit"}); !out.Success {
				t.Fatalf("%+v", out)
			}
			end(l)
			l.says("shutdown", "done\n")
		})
	}
}
