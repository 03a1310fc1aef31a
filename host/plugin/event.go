package plugin

// Event is what has happened to a plugin, as the log of a host has it under "event".
type Event string

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
