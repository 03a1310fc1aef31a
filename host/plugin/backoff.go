package plugin

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/toolhost/toolhost/internal/sanitize"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// RestartPolicy says what becomes of a plugin that fails again and again: a start
// that does not succeed, or a run that ends by itself before it has lasted. The
// zero value means the defaults.
type RestartPolicy struct {
	// Free is how many failures in a row are each followed by a new start at once, 1 to 1000, or unlimited, with which
	// the other settings here have no effect.
	//
	// Below 0: unlimited.
	Free int `json:"free" minimum:"1" maximum:"1000" words:"unlimited=-1" default:"3" example:"5"`
	// Backoff is the pause before each later start, 1ms to 24h. Each further failure doubles it.
	//
	// A random part of up to a half is left out. Calls wait for a pause of up to a second, and are refused in a longer
	// one.
	Backoff time.Duration `json:"backoff" default:"100ms" example:"200ms"`
	// MaxBackoff is the longest pause, 1ms to 24h.
	MaxBackoff time.Duration `json:"max_backoff" default:"10s" example:"20s"`
	// Quarantine is how many failures in a row make the host refuse calls for a cooldown, 2 to 1001, and more than
	// free.
	//
	// Nothing is started then. After it one call may try it.
	Quarantine int `json:"quarantine" minimum:"2" maximum:"1001" default:"10" example:"20"`
	// Cooldown is how long calls are refused, 1ms to 24h. Each further cooldown is twice as long.
	Cooldown time.Duration `json:"cooldown" default:"30s" example:"1m"`
	// MaxCooldown is the longest cooldown, 1ms to 24h.
	MaxCooldown time.Duration `json:"max_cooldown" default:"10m" example:"1h"`
	// Lasting is how long a run that has answered a call must last for earlier failures to be forgotten, 1ms to 24h.
	Lasting time.Duration `json:"lasting" default:"10s" example:"1m"`
}

func restartPolicy(r RestartPolicy) RestartPolicy {
	d := DefaultSettings().Restart
	return RestartPolicy{
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
	policy   RestartPolicy
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
	event Event         // empty: the next call starts the plugin at once
	wait  time.Duration // until it is tried again
	after int           // failures in a row
}

func (b *backoff) consequence(now time.Time) consequence {
	out := consequence{wait: b.until.Sub(now), after: b.failures}
	switch {
	case out.wait <= 0:
		return consequence{}
	case b.quarantined():
		out.event = EventQuarantined
	default:
		out.event = EventBackoff
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
		"see toolhost plugins show "+plugin+"; the call may be made again later")
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
