package pluginrun_test

import (
	"errors"
	"testing"
	"time"

	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/pluginrun"
	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/plugintest"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// A plugin in a crash loop is quarantined: its calls are refused with the reason
// and nothing is started, until the operator says so.
func TestCrashLoop(t *testing.T) {
	t.Parallel()
	found, _, err := pluginrun.Discover(plugintest.Dir(t, plugintest.Crasher))
	require.NoError(t, err)
	p := pluginrun.New(found[0], pluginrun.Config{
		Root: t.TempDir(), TempDir: socketDir(t),
		Settings: plugin.Settings{
			StartTimeout: ceiling,
			Restart:      plugin.RestartPolicy{Free: 1, Backoff: time.Millisecond, Quarantine: 3, Cooldown: time.Hour},
		},
	})
	t.Cleanup(func() { _ = p.Close(t.Context()) })
	crash := tool.Call{Name: "crash.exit", Arguments: []byte(`{"code":3}`)}
	for range 3 {
		if _, err := p.Execute(t.Context(), crash); tool.CodeOf(err) != tool.CodeCrashed {
			t.Fatal(err)
		}
	}
	_, err = p.Execute(t.Context(), crash)
	var e *tool.Error
	if !errors.As(err, &e) || e.Code != tool.CodeUnavailable || !e.Unsent || time.Duration(e.RetryAfter) < time.Minute || e.Plugin != "crasher" {
		t.Fatalf("in quarantine: %#v", err)
	}
	if s := p.Status(); s.State != plugin.Quarantined || s.Reason == "" || s.Starts != 3 {
		t.Errorf("%+v", s)
	}
	require.NoError(t, p.Restart(t.Context()))
	call(t, p, "crash.pid", "{}")
	before := p.Status()
	assert.Equalf(t, before.State, plugin.Ready, "%+v", before)
	if err := p.Restart(t.Context()); err != nil { // a run that is well is exchanged
		t.Fatal(err)
	}
	call(t, p, "crash.pid", "{}")
	if after := p.Status(); after.PID == before.PID || after.Starts != before.Starts+1 {
		t.Errorf("before %+v, after %+v", before, after)
	}
}
