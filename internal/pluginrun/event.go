package pluginrun

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/toolhost/toolhost/internal/journal"
	"github.com/toolhost/toolhost/internal/sanitize"
)

// EventKey is the key of a log line's kind of event. Only lines of the host have it, never those of
// plugins.
const EventKey = "event"

// tell warns of an event, and keeps it in the journal.
func (s *supervisor) tell(event, what, why string, args ...any) {
	why = sanitize.Line(why, 1000)
	s.cfg.Logger.Warn(what, append([]any{EventKey, event, "plugin", s.name, "reason", why}, args...)...)
	text := what + ": " + why
	if i := slices.Index(args, any("last_words")); i >= 0 {
		text += fmt.Sprintf("; it wrote last: %v", args[i+1])
	}
	s.cfg.Journal.Tell(hclog.Warn.String(), event, text, args...)
}

func (s *supervisor) tellConsequence(then consequence) {
	what := map[string]string{
		journal.Backoff: "plugin waits for its next start", journal.Quarantined: "plugin is quarantined",
	}[then.event]
	if what != "" {
		wait := then.wait.Round(100 * time.Millisecond)
		s.tell(then.event, what, fmt.Sprintf("it failed %d times in a row and is tried again in %v", then.after, wait))
	}
}

// tellStart keeps a start in the journal.
func (s *supervisor) tellStart(run *instance, why string) {
	what, took := "started", run.took.Round(time.Millisecond)
	if run.proc.lost != nil {
		what = "connected"
	}
	s.cfg.Journal.Tell(hclog.Info.String(), journal.Started, fmt.Sprintf("%s in %v: %s", what, took, why),
		"pid", run.proc.number(), "took", took, "why", why, "version", run.about.Version, "root", s.cfg.Root)
}

// tellEnd logs the end of a run that crashed, and keeps that of any in the journal. It is not called before the end is
// recorded.
func (s *supervisor) tellEnd(run *instance) {
	ran, pid := run.end.at.Sub(run.since).Round(time.Millisecond), int(run.proc.forked.Load())
	if run.end.crashed {
		args := []any{"ran", ran.String(), "pid", pid}
		if words := cmp.Or(run.proc.output.stderr.cause(), run.proc.output.stderr.last()); words != "" {
			args = append(args, "last_words", words)
		}
		s.tell(journal.Crashed, "plugin crashed", run.end.reason, args...)
		s.tellConsequence(run.end.then)
		return
	}
	s.mu.Lock()
	why := cmp.Or(run.why, "it is not wanted any more")
	s.mu.Unlock()
	s.cfg.Journal.Tell(hclog.Info.String(), journal.Ended, fmt.Sprintf("ended after %v: %s", ran, why),
		"pid", pid, "ran", ran, "why", why, "how", run.end.reason)
}
