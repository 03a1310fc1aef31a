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
	// Free is how many failures in a row are each followed by a new start at once.
	// Default: 3; below 0: any number, and nothing else here counts.
	Free int `json:"free"`
	// Backoff is the pause before the next start, from then on. Each further failure
	// doubles it, up to MaxBackoff, and a random part of up to a half is left out.
	// Calls wait for a pause of up to a second, and are refused in a longer one.
	// Default: 100 ms, and 10 s.
	Backoff    time.Duration `json:"backoff"`
	MaxBackoff time.Duration `json:"max_backoff"`
	// Quarantine is how many failures in a row it takes until calls are refused, and
	// nothing is started, for Cooldown. Then one call may try it; if that fails, the
	// next cooldown is twice as long, up to MaxCooldown. Default: 10, 30 s and 10
	// min.
	Quarantine  int           `json:"quarantine"`
	Cooldown    time.Duration `json:"cooldown"`
	MaxCooldown time.Duration `json:"max_cooldown"`
	// Lasting is how long a run has to last for the failures before it to be
	// forgotten. Default: 10 s.
	Lasting time.Duration `json:"lasting"`
}

func (r RestartPolicy) withDefaults() RestartPolicy {
	return RestartPolicy{
		Free:    cmp.Or(r.Free, 3),
		Backoff: cmp.Or(r.Backoff, 100*time.Millisecond), MaxBackoff: cmp.Or(r.MaxBackoff, 10*time.Second),
		Quarantine: cmp.Or(r.Quarantine, 10),
		Cooldown:   cmp.Or(r.Cooldown, 30*time.Second), MaxCooldown: cmp.Or(r.MaxCooldown, 10*time.Minute),
		Lasting: cmp.Or(r.Lasting, 10*time.Second),
	}
}

// patience is how long a pause a call waits for.
const patience = time.Second

// health counts a plugin's failures and says when it may be started again. Its
// user holds a lock.
type health struct {
	policy   RestartPolicy
	failures int // in a row
	why      string
	until    time.Time     // no start before
	cooldown time.Duration // the last one; 0: there was none
	probing  bool          // the one start that may follow a cooldown is under way
}

// failed notes a failure.
func (h *health) failed(now time.Time, why string) {
	h.failures++
	h.why = sanitize.Line(why, 300)
	h.probing = false
	p := h.policy
	switch {
	case p.Free < 0 || h.failures <= p.Free:
		h.until = time.Time{}
	case h.quarantined():
		h.cooldown = min(max(2*h.cooldown, p.Cooldown), p.MaxCooldown)
		h.until = now.Add(h.cooldown)
	default:
		pause := min(p.Backoff<<min(h.failures-p.Free-1, 20), p.MaxBackoff)
		h.until = now.Add(pause - rand.N(pause/2+1)) //nolint:gosec // no secret
	}
}

// ended notes that a run which took calls has ended by itself.
func (h *health) ended(now time.Time, lasted time.Duration, why string) {
	if lasted >= h.policy.Lasting {
		h.restore()
	}
	h.failed(now, why)
}

// restore forgets all failures.
func (h *health) restore() { *h = health{policy: h.policy} }

func (h *health) quarantined() bool { return h.policy.Free >= 0 && h.failures >= h.policy.Quarantine }

// mayStart is how long to wait for the next start: 0: it may begin, and the plugin
// is being tried if it was quarantined.
//
// # Errors
//
// [tool.CodeUnavailable] where that is too long to wait.
func (h *health) mayStart(now time.Time, plugin string) (time.Duration, error) {
	wait := h.until.Sub(now)
	switch {
	case h.quarantined() && (wait > 0 || h.probing):
		return 0, h.refusal(max(wait, patience), plugin)
	case wait > patience:
		return 0, h.refusal(wait, plugin)
	case wait > 0:
		return wait, nil
	}
	h.probing = h.quarantined()
	return 0, nil
}

func (h *health) refusal(wait time.Duration, plugin string) error {
	e := &tool.Error{
		Code: tool.CodeUnavailable, Plugin: plugin, Stage: tool.StageStart, Unsent: true, RetryAfter: wait,
		Message: fmt.Sprintf("plugin %s %s", plugin, h.reason(wait)),
		Hint:    "see toolhost plugins show " + plugin + "; the call may be made again later",
	}
	return e
}

// reason tells an operator what the failures lead to.
func (h *health) reason(wait time.Duration) string {
	what := "is started again in"
	if h.quarantined() {
		what = "is quarantined; it is tried again in"
	}
	return fmt.Sprintf("failed %d times in a row and %s %v: %s", h.failures, what, wait.Round(100*time.Millisecond), h.why)
}
