package pluginrun

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/journal"
	"github.com/toolhost/toolhost/internal/remedy"
	"github.com/toolhost/toolhost/internal/sanitize"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

func restartPolicy(r plugin.RestartPolicy) plugin.RestartPolicy {
	d := plugin.DefaultSettings().Restart
	return plugin.RestartPolicy{
		Free: cmp.Or(r.Free, d.Free), Backoff: cmp.Or(r.Backoff, d.Backoff), MaxBackoff: cmp.Or(r.MaxBackoff, d.MaxBackoff),
		Quarantine: cmp.Or(r.Quarantine, d.Quarantine), Cooldown: cmp.Or(r.Cooldown, d.Cooldown),
		MaxCooldown: cmp.Or(r.MaxCooldown, d.MaxCooldown), Lasting: cmp.Or(r.Lasting, d.Lasting),
	}
}

// patience is how long a pause a call waits for.
const patience = time.Second

// backoff counts a plugin's failures and says when it may be started again. It is guarded
// by the supervisor's lock.
type backoff struct {
	policy   plugin.RestartPolicy
	failures int // in a row
	why      string
	until    time.Time     // no start before
	cooldown time.Duration // the last one; 0: there was none
	probing  bool          // the one start that may follow a cooldown is under way
}

// failed records a failure.
func (b *backoff) failed(now time.Time, why string) {
	b.failures++
	b.why = sanitize.Line(why, 300)
	b.probing = false
	p := b.policy
	switch {
	case p.Free < 0 || b.failures <= p.Free:
		b.until = time.Time{}
	case b.quarantined():
		b.cooldown = min(max(2*b.cooldown, p.Cooldown), p.MaxCooldown)
		b.until = now.Add(b.cooldown)
	default:
		pause := min(p.Backoff<<min(b.failures-p.Free-1, 20), p.MaxBackoff)
		b.until = now.Add(pause - rand.N(pause/2+1)) //nolint:gosec // no secret
	}
}

// ended records the end of a run which took calls, and how long it was well. A crash is
// told by why; empty: the run ended in good order.
func (b *backoff) ended(now time.Time, well time.Duration, why string) {
	switch {
	case well >= b.policy.Lasting:
		b.reset()
	case b.probing: // that it started proves little: the next call is the next probe
		b.probing = false
	}
	if why != "" {
		b.failed(now, why)
	}
}

// consequence is what a failure leads to.
type consequence struct {
	event string        // empty: the next call starts the plugin at once
	wait  time.Duration // until it is tried again
	after int           // failures in a row
}

func (b *backoff) consequence(now time.Time) consequence {
	out := consequence{wait: b.until.Sub(now), after: b.failures}
	switch {
	case out.wait <= 0:
		return consequence{}
	case b.quarantined():
		out.event = journal.Quarantined
	default:
		out.event = journal.Backoff
	}
	return out
}

// reset forgets all failures.
func (b *backoff) reset() { *b = backoff{policy: b.policy} }

func (b *backoff) quarantined() bool { return b.policy.Free >= 0 && b.failures >= b.policy.Quarantine }

// mayStart returns how long to wait for the next start; 0: it may begin now, as a probe
// if the plugin was quarantined.
//
// # Errors
//
// [tool.CodeUnavailable] if that is too long to wait.
func (b *backoff) mayStart(now time.Time, plugin string) (time.Duration, error) {
	wait := b.until.Sub(now)
	switch {
	case b.quarantined() && (wait > 0 || b.probing):
		return 0, b.refusal(max(wait, patience), plugin)
	case wait > patience:
		return 0, b.refusal(wait, plugin)
	case wait > 0:
		return wait, nil
	}
	b.probing = b.quarantined()
	return 0, nil
}

func (b *backoff) refusal(wait time.Duration, plugin string) error {
	e := unavailable(plugin, nil, fmt.Sprintf("plugin %s %s", plugin, b.reason(wait)),
		remedy.ShowPlugin.For(plugin)+"; the call may be made again later")
	e.Hint = "the call may be made again later"
	e.RetryAfter = tool.Duration(wait)
	return e
}

// reason tells an operator what the failures lead to.
func (b *backoff) reason(wait time.Duration) string {
	what := "is started again in"
	if b.quarantined() {
		what = "is quarantined; it is tried again in"
	}
	return fmt.Sprintf("failed %d times in a row and %s %v: %s", b.failures, what, wait.Round(100*time.Millisecond), b.why)
}
