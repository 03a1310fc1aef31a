package pluginrun_test

import (
	"context"
	"testing"
	"time"

	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/pluginrun"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// A server that is not used for a while is stopped, and started by the next call; calls under way
// and whoever holds it keep it.
func TestIdleServerIsStopped(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, _ remote, reached func(...func(*pluginrun.Config)) *pluginrun.Plugin) {
		const timeout, check = 40 * time.Second, 10 * time.Second
		p := reached(func(c *pluginrun.Config) { c.IdleTimeout = timeout })
		call(t, p, "r.now", "{}")
		after(check - 1)
		call(t, p, "r.now", "{}")
		after(timeout)
		state(t, p, plugin.Ready, "") // the check that found the call does not count
		after(1)
		state(t, p, plugin.Idle, "stopped, as it was not used for 40s")

		call(t, p, "r.now", "{}")
		release := p.Hold()
		after(time.Hour)
		state(t, p, plugin.Ready, "")
		release()
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		if _, err := p.Execute(ctx, tool.Call{Name: "r.wait"}); tool.CodeOf(err) != tool.CodeDeadlineExceeded {
			t.Error(err)
		}
		if s := p.Status(); s.State != plugin.Ready || s.Starts != 2 {
			t.Errorf("after the call: %+v", s)
		}
		after(timeout + check)
		state(t, p, plugin.Idle, "stopped, as it was not used for 40s")
	})
}
