package pluginrun

import (
	"fmt"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/sanitize"
)

// EventKey is the key of a log line's [plugin.Event]. Only lines of the host have it, never those of
// plugins.
const EventKey = "event"

// tell warns of an event, and keeps it in the journal.
func (s *supervisor) tell(e plugin.Event, what, why string, args ...any) {
	why = sanitize.Line(why, 1000)
	s.cfg.Logger.Warn(what, append([]any{EventKey, string(e), "plugin", s.name, "reason", why}, args...)...)
	s.cfg.Journal.Tell(hclog.Warn, what+": "+why)
}

func (s *supervisor) tellConsequence(then consequence) {
	what := map[plugin.Event]string{
		plugin.EventBackoff: "plugin waits for its next start", plugin.EventQuarantined: "plugin is quarantined",
	}[then.event]
	if what != "" {
		wait := then.wait.Round(100 * time.Millisecond)
		s.tell(then.event, what, fmt.Sprintf("it failed %d times in a row and is tried again in %v", then.after, wait))
	}
}

// tellEnd logs the end of a run. It is not called before the end is recorded.
func (s *supervisor) tellEnd(run *instance) {
	if run.end.crashed {
		s.tell(plugin.EventCrashed, "plugin crashed", run.end.reason, "ran", run.end.at.Sub(run.since).Round(time.Millisecond).String())
		s.tellConsequence(run.end.then)
	}
}

// Tell adds what the host says of the plugin. A nil journal keeps nothing.
func (j *Journal) Tell(level hclog.Level, text string) {
	j.add(plugin.Line{Level: level.String(), Host: true, Text: text})
}
