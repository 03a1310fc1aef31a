package pluginrun

import (
	"testing"
	"time"

	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// A plugin that fails again and again is started at once, then after pauses, then
// not at all until one call may try it.
func TestBackoff(t *testing.T) {
	t.Parallel()
	now := time.Now()
	b := backoff{policy: restartPolicy(plugin.RestartPolicy{Free: 2, Backoff: time.Second, MaxBackoff: 3 * time.Second, Quarantine: 6, Cooldown: time.Minute, MaxCooldown: 90 * time.Second})}
	start := func(wantWait bool, refused bool) {
		t.Helper()
		wait, err := b.mayStart(now, "p")
		if wait > 0 != wantWait || err != nil != refused {
			t.Fatalf("after %d failures: wait %v, error %v", b.failures, wait, err)
		}
		if refused && (tool.CodeOf(err) != tool.CodeUnavailable || !tool.AsError(err).Unsent || tool.AsError(err).RetryAfter <= 0) {
			t.Errorf("%#v", err)
		}
	}
	start(false, false)
	for range 2 { // free
		b.ended(now, time.Second, "exit status 1")
		start(false, false)
	}
	for i, most := range []time.Duration{time.Second, 2 * time.Second, 3 * time.Second} {
		b.failed(now, "exit status 1")
		if pause := b.until.Sub(now); pause > most || pause < most/2 {
			t.Errorf("pause %d is %v, want up to %v", i, pause, most)
		}
		if now = b.until.Add(-time.Millisecond); b.until.Sub(now) > 0 {
			start(true, false)
		}
		now = b.until
		start(false, false)
	}
	for _, cooldown := range []time.Duration{time.Minute, 90 * time.Second, 90 * time.Second} {
		b.failed(now, "exit status 1")
		if !b.quarantined() || b.until.Sub(now) != cooldown {
			t.Fatalf("quarantined %v for %v, want %v", b.quarantined(), b.until.Sub(now), cooldown)
		}
		start(false, true)
		now = b.until
		start(false, false) // one call tries it
		start(false, true)  // and no other
	}
	b.ended(now, 10*time.Second, "exit status 1") // it lasted
	if b.failures != 1 || b.quarantined() {
		t.Errorf("%d failures after a run that lasted, want 1", b.failures)
	}
	b.reset()
	start(false, false)

	never := backoff{policy: restartPolicy(plugin.RestartPolicy{Free: -1})}
	for range 100 {
		never.failed(now, "exit status 1")
	}
	if wait, err := never.mayStart(now, "p"); wait != 0 || err != nil {
		t.Errorf("with no limit: %v, %v", wait, err)
	}
}
