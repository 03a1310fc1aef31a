package main

import (
	"maps"
	"slices"
	"strings"
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
	r.broken(r.Calls == 0 || len(r.Disturbed) == 0, "nothing was tried")
	r.judgeCalls("owner", "disturbance", leastOfFleet, tool.CodeUnavailable)
	third := len(r.Samples) / 3
	if third == 0 {
		r.broken(true, "there are too few samples of what the process has")
		return
	}
	r.First, r.Last = median(r.Samples[:third]), median(r.Samples[len(r.Samples)-third:])
	r.broken(r.Last.Goroutines > r.First.Goroutines+fleetGoroutines, "goroutines grew from %d to %d", r.First.Goroutines, r.Last.Goroutines)
	r.broken(r.Last.Descriptors > r.First.Descriptors+fleetDescriptors,
		"descriptors grew from %d to %d", r.First.Descriptors, r.Last.Descriptors)
	r.broken(r.Last.HeapInUse > r.First.HeapInUse+r.First.HeapInUse/10+fleetHeap, "the heap grew from %d to %d MiB",
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
	row, end := rows(&b)
	row("load", "%d callers on one host, tools of 0 to %v on two others, a disturbance every %v on average", r.Callers, maxWork, disturbEvery)
	row("took", "%v", time.Duration(r.Took).Round(time.Millisecond))
	for _, name := range slices.Sorted(maps.Keys(r.Disturbed)) {
		row(name, "%d times", r.Disturbed[name])
	}
	row("calls", "%d, the slowest took %v", r.Calls, time.Duration(r.Slowest).Round(time.Millisecond))
	r.showCalls(row, leastOfFleet)
	row("goroutines", "%d in the first third, %d in the last (at most %d more)", r.First.Goroutines, r.Last.Goroutines, fleetGoroutines)
	row("descriptors", "%d in the first third, %d in the last (at most %d more)", r.First.Descriptors, r.Last.Descriptors, fleetDescriptors)
	row("heap in use", "%d MiB in the first third, %d in the last (at most %d and a tenth more)",
		r.First.HeapInUse>>20, r.Last.HeapInUse>>20, fleetHeap>>20)
	row("resident", "%d MiB in the first third, %d in the last", r.First.Resident>>20, r.Last.Resident>>20)
	_ = end()
	r.verdict(&b)
	return b.String()
}
