package pluginrun_test

import (
	"context"
	"testing"
	"time"

	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/pluginrun"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// giveUpAfter makes a call that is not answered in time.
func giveUpAfter(t *testing.T, p *pluginrun.Plugin, d time.Duration) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	defer cancel()
	if _, err := p.Execute(ctx, tool.Call{Name: "r.wait"}); tool.CodeOf(err) != tool.CodeDeadlineExceeded {
		t.Fatalf("got %v, want a call that is given up", err)
	}
}

// The health of a server is asked for when a call was not answered in time, and no more often than
// each pause. With two checks in a row that are not answered, a second each, it is degraded, and
// with the third it is ended.
func TestHealthIsCheckedAfterACall(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, r remote, reached func(...func(*pluginrun.Config)) *pluginrun.Plugin) {
		const pause = 10 * time.Second
		p := reached()
		call(t, p, "r.now", "{}")
		after(time.Hour)
		giveUpAfter(t, p, time.Second)
		after(time.Minute)
		state(t, p, plugin.Ready, "") // it answered the check

		r.silent.Store(true)
		giveUpAfter(t, p, time.Second)
		after(2*time.Second - 1)
		state(t, p, plugin.Ready, "")
		after(1)
		state(t, p, plugin.Degraded, "no health check 2 times in a row")
		if p.Status().LastFault == nil {
			t.Error("there is no fault")
		}
		giveUpAfter(t, p, time.Second) // too soon for a check
		after(time.Minute)
		state(t, p, plugin.Degraded, "no health check 2 times in a row")

		r.silent.Store(false)
		call(t, p, "r.now", "{}")
		state(t, p, plugin.Ready, "")

		r.silent.Store(true)
		giveUpAfter(t, p, time.Second)
		after(2 * time.Second)
		state(t, p, plugin.Degraded, "no health check 2 times in a row")
		after(pause)
		giveUpAfter(t, p, time.Second)
		after(time.Second - 1)
		state(t, p, plugin.Degraded, "")
		after(1)
		state(t, p, plugin.Idle, "")
		r.silent.Store(false)
		call(t, p, "r.now", "{}")
		if s := p.Status(); s.State != plugin.Ready || s.Starts != 2 || s.Crashes != 1 {
			t.Errorf("%+v", s)
		}
	})
}
