package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// FleetReport is the outcome of a run with three hosts. Of the calls it says what a [Report] does.
type FleetReport struct {
	Report

	Disturbed map[string]int `json:"disturbed"` // how often, by what was done
	Samples   []Usage        `json:"samples"`   // of the host that survives, in equal distances
	First     Usage          `json:"first"`     // the medians of the first third of them
	Last      Usage          `json:"last"`      // and of the last third
}

// leastOfFleet is the part of idempotent calls that has to succeed: of two hosts one is always there, but
// a call may meet two disturbances.
const leastOfFleet = .999

// What the last third may have more than the first.
const (
	fleetGoroutines  = 20 // calls and links in progress
	fleetDescriptors = 4  // connections to the server that is in this process
	fleetHeap        = 4 << 20
)

// judge says which promises were broken.
func (r *FleetReport) judge() {
	r.Broken = []string{}
	broken := func(is bool, format string, args ...any) {
		if is {
			r.Broken = append(r.Broken, fmt.Sprintf(format, args...))
		}
	}
	broken(r.Calls == 0 || len(r.Disturbed) == 0, "nothing was tried")
	broken(r.Untyped > 0, "%d calls ended with no typed error that names its owner, or with an answer that is not theirs", r.Untyped)
	for _, code := range slices.Sorted(maps.Keys(r.Typed)) {
		broken(code != tool.CodeUnavailable, "%d calls ended with %s, which no disturbance explains", r.Typed[code], code)
	}
	broken(r.Idempotent.Calls > 0 && r.Idempotent.rate() < leastOfFleet, "%.3f %% of the idempotent calls succeeded, of %.1f %%",
		100*r.Idempotent.rate(), 100*leastOfFleet)
	broken(r.Repeated > 0, "%d calls that must not be repeated ran more than once", r.Repeated)
	broken(r.Lies > 0, "%d calls ran of which the host says that they never left", r.Lies)
	broken(r.Ghosts > 0, "%d calls were answered and never ran", r.Ghosts)
	broken(r.NoAnswer > 0, "%d calls had no answer within %v", r.NoAnswer, patience)
	third := len(r.Samples) / 3
	if third == 0 {
		broken(true, "there are too few samples of what the process has")
		return
	}
	r.First, r.Last = median(r.Samples[:third]), median(r.Samples[len(r.Samples)-third:])
	broken(r.Last.Goroutines > r.First.Goroutines+fleetGoroutines, "goroutines grew from %d to %d", r.First.Goroutines, r.Last.Goroutines)
	broken(r.Last.Descriptors > r.First.Descriptors+fleetDescriptors,
		"descriptors grew from %d to %d", r.First.Descriptors, r.Last.Descriptors)
	broken(r.Last.HeapInUse > r.First.HeapInUse+r.First.HeapInUse/10+fleetHeap, "the heap grew from %d to %d MiB",
		r.First.HeapInUse>>20, r.Last.HeapInUse>>20)
}

// median returns the medians of each figure.
func median(all []Usage) Usage {
	of := func(figure func(Usage) int64) int64 {
		var out []int64
		for _, u := range all {
			out = append(out, figure(u))
		}
		slices.Sort(out)
		return out[len(out)/2]
	}
	return Usage{
		Goroutines:  int(of(func(u Usage) int64 { return int64(u.Goroutines) })),
		Descriptors: int(of(func(u Usage) int64 { return int64(u.Descriptors) })),
		HeapInUse:   of(func(u Usage) int64 { return u.HeapInUse }), Resident: of(func(u Usage) int64 { return u.Resident }),
	}
}

// table shows the report to people.
func (r *FleetReport) table() string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	row := func(name, format string, args ...any) {
		_, _ = fmt.Fprintf(w, "%s\t%s\n", name, fmt.Sprintf(format, args...))
	}
	row("load", "%d callers on one host, tools of 0 to %v on two others, a disturbance every %v on average", r.Callers, maxWork, disturbEvery)
	row("took", "%v", time.Duration(r.Took).Round(time.Millisecond))
	for _, name := range slices.Sorted(maps.Keys(r.Disturbed)) {
		row(name, "%d times", r.Disturbed[name])
	}
	row("calls", "%d, the slowest took %v", r.Calls, time.Duration(r.Slowest).Round(time.Millisecond))
	for _, code := range slices.Sorted(maps.Keys(r.Typed)) {
		row("typed failures", "%d %s", r.Typed[code], code)
	}
	row("untyped failures", "%d (must be 0)", r.Untyped)
	row("idempotent calls", "%d, succeeded: %d, %.4f %% (at least %.1f %%)",
		r.Idempotent.Calls, r.Idempotent.Succeeded, 100*r.Idempotent.rate(), 100*leastOfFleet)
	row("other calls", "%d, succeeded: %d, never left the host: %d", r.Other.Calls, r.Other.Succeeded, r.Other.Unsent)
	row("ran more than once", "%d of the others (must be 0)", r.Repeated)
	row("said not to have left, and ran", "%d of the others (must be 0)", r.Lies)
	row("answered, and never ran", "%d (must be 0)", r.Ghosts)
	row("no answer", "%d (must be 0)", r.NoAnswer)
	row("goroutines", "%d in the first third, %d in the last (at most %d more)", r.First.Goroutines, r.Last.Goroutines, fleetGoroutines)
	row("descriptors", "%d in the first third, %d in the last (at most %d more)", r.First.Descriptors, r.Last.Descriptors, fleetDescriptors)
	row("heap in use", "%d MiB in the first third, %d in the last (at most %d and a tenth more)",
		r.First.HeapInUse>>20, r.Last.HeapInUse>>20, fleetHeap>>20)
	row("resident", "%d MiB in the first third, %d in the last", r.First.Resident>>20, r.Last.Resident>>20)
	_ = w.Flush()
	r.verdict(&b)
	return b.String()
}
