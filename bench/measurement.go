package main

import (
	"context"

	"github.com/toolhost/toolhost/bench/internal/stats"
)

// measurement is one thing to measure, in a file of its own. A new one is added
// here:
func measurements() []measurement {
	return []measurement{
		latency(), load(), size64K(), size8M(), behindLarge(),
		coldList(), coldCall(), recovery(), upgrade(), goroutines(), neighbour(), sandbox(), mcpCalls(), mcpList(), manyTools(),
	}
}

type measurement struct {
	// name is what -only looks at.
	name string
	// start prepares what later rounds need; nil: nothing. What has to be ended
	// is given to bench.cleanup.
	start func(context.Context, *bench) error
	// measure takes a turn and adds what came out to the bench's results, once
	// for each figure and variant. It ends when its context does.
	measure func(context.Context, *bench) error
	// keys are the figures that have a target.
	keys []key
}

// key is a figure with a target, and its name in latest.json.
type key struct {
	name   string
	about  string
	target float64
	least  bool // the target is the least, else the most
	shown  bool // there is no target
	count  bool // it may be 0
	value  func(*results) float64
}

// met reports whether v is as good as it has to be.
func (k key) met(v float64) bool {
	switch {
	case k.shown:
		return true
	case k.least:
		return v >= k.target
	}
	return v <= k.target
}

// figure is something that is measured of one or more variants.
type figure struct {
	name  string // in latest.json, with its unit
	about string // in the tables
}

// results are the values of each figure and variant, one for each round.
type results struct {
	round   int
	figures []figure            // in the order in which they came
	names   map[figure][]string // of variants, likewise
	values  map[figure]map[string][]float64
}

// add takes one round's values of a figure, of which the median counts.
func (r *results) add(f figure, variant string, values ...float64) {
	if r.values == nil {
		r.names, r.values = map[figure][]string{}, map[figure]map[string][]float64{}
	}
	if r.values[f] == nil {
		r.figures = append(r.figures, f)
		r.values[f] = map[string][]float64{}
	}
	if r.values[f][variant] == nil {
		r.names[f] = append(r.names[f], variant)
	}
	r.values[f][variant] = append(r.values[f][variant], stats.Median(values))
}

// median is over the rounds; NaN where nothing was measured.
func (r *results) median(f figure, variant string) float64 {
	return stats.Median(r.values[f][variant])
}

// ratio is the median of the ratios that two variants have in each round.
func (r *results) ratio(f figure, variant, to string) float64 {
	return r.over(f, variant, f, to)
}

// over is ratio with another figure below the line.
func (r *results) over(f figure, variant string, below figure, to string) float64 {
	a, b := r.values[f][variant], r.values[below][to]
	var all []float64
	for i := range min(len(a), len(b)) {
		all = append(all, a[i]/b[i])
	}
	return stats.Median(all)
}
