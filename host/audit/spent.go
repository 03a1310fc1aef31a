package audit

import "github.com/toolhost/toolhost/pluginsdk/tool"

// Phases are the names of where the time of a call goes, in their order; the last one is the host's own work.
var Phases = []string{"asked", "retried", "started", "queued", "sent", "ran", "checked", "host"}

// Spent returns how long the call was in each of [Phases]; nil: it is not known.
func (r *Record) Spent() []tool.Duration {
	p := r.Phases
	if p == nil || r.Event != End {
		return nil
	}
	all := []tool.Duration{p.Asked, p.Retried, p.Started, p.Queued, p.Sent, p.Ran, p.Checked}
	left := r.Duration
	for _, d := range all {
		left -= d
	}
	return append(all, max(left, 0))
}

// Longest is where the call spent most of its time; empty: it is not known.
func (r *Record) Longest() (name string) {
	var most tool.Duration
	for i, d := range r.Spent() {
		if d > most {
			name, most = Phases[i], d
		}
	}
	return name
}
