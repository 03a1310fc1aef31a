package pluginrun_test

import (
	"context"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/pluginrun"
	"github.com/toolhost/toolhost/internal/test/plugintest"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// giveUp makes a call that is not answered in time.
func giveUp(t *testing.T, p *pluginrun.Plugin) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := p.Execute(ctx, tool.Call{Name: "crash.wait"}); tool.CodeOf(err) != tool.CodeDeadlineExceeded {
		t.Fatalf("got %v, want a call that is given up", err)
	}
}

// becomes waits for a state.
func becomes(t *testing.T, p *pluginrun.Plugin, want plugin.State) plugin.Status {
	t.Helper()
	var s plugin.Status
	require.Eventually(t, "it is "+string(want), func() bool {
		s = p.Status()
		return s.State == want
	})
	return s
}

// A plugin that is stopped is degraded, and well again when it goes on; if it does
// not, it is ended, and the next call starts it.
func TestStopped(t *testing.T) {
	t.Parallel()
	p := open(t, plugintest.Crasher, func(c *pluginrun.Config) { pluginrun.WithHealthPause(c, time.Millisecond) })
	call(t, p, "crash.pid", "{}")
	stop := func(signal syscall.Signal) {
		require.NoError(t, syscall.Kill(p.Status().PID, signal))
	}
	stop(syscall.SIGSTOP)
	giveUp(t, p)
	if s := becomes(t, p, plugin.Degraded); s.PID == 0 || !strings.Contains(s.Reason, "no health check 2 times") || s.LastFault == nil {
		t.Errorf("%+v", s)
	}
	stop(syscall.SIGCONT)
	call(t, p, "crash.pid", "{}")
	if s := p.Status(); s.State != plugin.Ready || s.Reason != "" {
		t.Errorf("it goes on: %+v", s)
	}

	stop(syscall.SIGSTOP)
	giveUp(t, p)
	becomes(t, p, plugin.Degraded)
	giveUp(t, p)
	if s := becomes(t, p, plugin.Idle); !strings.Contains(s.Reason, "killed by SIGKILL by the host: the plugin answered no call and no health check") {
		t.Errorf("%+v", s)
	}
	call(t, p, "crash.pid", "{}")
	if s := p.Status(); s.State != plugin.Ready || s.Starts != 2 {
		t.Errorf("%+v", s)
	}
}
