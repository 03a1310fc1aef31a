package plugin

import (
	"fmt"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/toolhost/toolhost/internal/sanitize"
)

// Event is what has happened to a plugin, as the log of a host has it under [EventKey].
type Event string

// EventKey is the key of a log line's [Event]. Only lines of the host have it, never those of
// plugins.
const EventKey = "event"

// The events.
const (
	EventStartFailed Event = "start_failed"
	EventCrashed     Event = "crashed"
	EventBackoff     Event = "backoff"     // the next start has to wait
	EventQuarantined Event = "quarantined" // calls are refused for a while
	EventAdded       Event = "added"
	EventUpgraded    Event = "upgraded"
	EventRemoved     Event = "removed"
	EventSurvived    Event = "survived"   // a process of a run that has ended lives on
	EventWantsMore   Event = "wants_more" // it declares needs that were not accepted, and runs without
	// EventEnforcesLess: a start was refused that would have enforced less than earlier ones.
	EventEnforcesLess Event = "enforces_less"
	EventOpen         Event = "open" // it has started for the first time, and not all is closed to it
)

// tell warns of an event, and keeps it in the journal.
func (s *supervisor) tell(e Event, what, why string, args ...any) {
	why = sanitize.Line(why, 1000)
	s.cfg.Logger.Warn(what, append([]any{EventKey, string(e), "plugin", s.name, "reason", why}, args...)...)
	s.cfg.Journal.Tell(hclog.Warn, what+": "+why)
}

func (s *supervisor) tellConsequence(then consequence) {
	what := map[Event]string{EventBackoff: "plugin waits for its next start", EventQuarantined: "plugin is quarantined"}[then.event]
	if what != "" {
		wait := then.wait.Round(100 * time.Millisecond)
		s.tell(then.event, what, fmt.Sprintf("it failed %d times in a row and is tried again in %v", then.after, wait))
	}
}

// tellEnd logs the end of a run. It is not called before the end is recorded.
func (s *supervisor) tellEnd(run *instance) {
	if run.end.crashed {
		s.tell(EventCrashed, "plugin crashed", run.end.reason, "ran", run.end.at.Sub(run.since).Round(time.Millisecond).String())
		s.tellConsequence(run.end.then)
	}
}

// Tell adds what the host says of the plugin. A nil journal keeps nothing.
func (j *Journal) Tell(level hclog.Level, text string) {
	j.add(Line{Level: level.String(), Host: true, Text: text})
}
