package manifest

import "time"

// Failure says how the starts of a plugin failed that has never described itself.
type Failure struct {
	At    time.Time     `json:"at"`    // of the newest
	Times int           `json:"times"` // in a row
	Took  time.Duration `json:"took"`
	// Limit is the start timeout that held.
	Limit time.Duration `json:"limit"`
	// Revision is the digest of the revision of the server that failed; empty: it is a plugin's
	// binary, or has none.
	Revision string `json:"revision,omitempty"`
	// Message and Detail are those of the error.
	Message string `json:"message"`
	Detail  string `json:"detail,omitempty"`
}

// What a failed start leads to. One that fails at once costs little, and is most often
// tried by someone who is correcting something; one that takes long keeps others waiting.
const (
	quick    = time.Second // a start that fails within this time
	free     = 3           // quick failures that are each followed by a start at once
	minPause = 10 * time.Second
	maxPause = 30 * time.Minute
	costs    = 20 // a pause is so many times as long as the start took
)

// Slow reports whether whoever tries it again has to wait.
func (f Failure) Slow() bool { return f.Took >= quick }

// Due is when whoever needs the plugin may start it again: at once after the first quick
// failures, then after pauses that double.
func (f Failure) Due() time.Time {
	doubled := f.Times - 1
	if !f.Slow() {
		doubled = f.Times - free
	}
	if doubled < 0 {
		return f.At
	}
	pause := max(minPause, costs*f.Took) << min(doubled, 20)
	return f.At.Add(min(pause, maxPause))
}

// DueUnasked is Due for a process that tries it on its own: it lets the free ones pass.
func (f Failure) DueUnasked() time.Time { return f.At.Add(max(minPause, f.Due().Sub(f.At))) }

// Add returns the failure that comes after f; nil: it is the first.
func (f *Failure) Add(next Failure) Failure {
	next.Times = 1
	if f != nil {
		next.Times = f.Times + 1
	}
	return next
}
