package pluginrun

import (
	"time"

	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// KeptBinaries is how many binaries of a plugin are kept.
const KeptBinaries = 3

// addTo adds to a status what the supervisor knows.
func (s *supervisor) addTo(out *plugin.Status) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.addToLocked(out)
}

// addToLocked is addTo. The lock is held.
func (s *supervisor) addToLocked(out *plugin.Status) {
	out.Starts, out.Crashes, out.Spare = s.starts, s.crashes, s.spare()
	if s.newest != nil {
		s.newest.addTo(out, s.cfg.IdleTimeout)
	}
	switch {
	case s.closed:
		out.State = plugin.Draining
		return
	case s.starting != nil:
		out.State = plugin.Starting
		return
	case s.refused != nil:
		out.State, out.Reason = plugin.Refused, tool.AsError(s.refused).Message
		return
	case s.startErr != nil:
		out.State, out.Reason = plugin.Refused, tool.AsError(s.startErr).Message
	case out.State != plugin.Idle: // it runs
		return
	}
	if wait := time.Until(s.backoff.until); wait > 0 {
		out.State, out.Reason = plugin.Backoff, s.backoff.reason(wait)
		if s.backoff.quarantined() {
			out.State = plugin.Quarantined
		}
	}
}

// report calls OnState if the state is not the one that was reported last.
func (s *supervisor) report() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reportLocked()
}

// reportLocked is report. The lock is held.
func (s *supervisor) reportLocked() {
	if s.cfg.OnState == nil {
		return
	}
	out := plugin.Status{Name: s.name, State: plugin.Idle}
	s.addToLocked(&out)
	if out.State != s.reported {
		s.reported = out.State
		s.cfg.OnState(out)
	}
}
