package main

import (
	"math"
	"strings"
	"testing"
)

// The ratio is made in each round, before the medians: a round in which the whole
// machine was slow counts like any other.
func TestRatioIsOfRounds(t *testing.T) {
	t.Parallel()
	var r results
	f := figure{name: "f"}
	for _, round := range [][2]float64{{10, 20}, {100, 100}, {30, 300}} {
		r.add(f, "a", round[0])
		r.add(f, bareUnary, round[1])
	}
	if got := r.ratio(f, "a", bareUnary); got != .5 {
		t.Errorf("ratio = %v, want 0.5", got)
	}
	if got := r.median(f, "a"); got != 30 {
		t.Errorf("median = %v, want 30", got)
	}
	r.add(figure{name: "g"}, "a", 7, 1, 4)
	if got := r.median(figure{name: "g"}, "a"); got != 4 {
		t.Errorf("of a round's values %v counts, want 4", got)
	}
	if got := r.ratio(f, "unknown", bareUnary); !math.IsNaN(got) {
		t.Errorf("a ratio of nothing = %v, want NaN", got)
	}
}

// A key without a value fails the run, so that no file is written.
func TestReportHasNoHoles(t *testing.T) {
	t.Parallel()
	for _, v := range []float64{math.NaN(), math.Inf(1), 0, -1} {
		hole := measurement{keys: []key{{name: "hole", value: func(*results) float64 { return v }}}}
		b := &bench{results: &results{}, chosen: []measurement{hole}}
		if _, err := b.report(); err == nil || !strings.Contains(err.Error(), "hole") {
			t.Errorf("a key that is %v gives %v", v, err)
		}
	}
}

func TestKeyIsMet(t *testing.T) {
	t.Parallel()
	most, least := key{target: 2}, key{target: 2, least: true}
	for v, want := range map[float64]bool{1: true, 2: true, 3: false} {
		if most.met(v) != want {
			t.Errorf("at most 2: %v is met: %v", v, !want)
		}
		if least.met(v) != (v >= 2) {
			t.Errorf("at least 2: %v is met: %v", v, v < 2)
		}
	}
}

func TestNumbers(t *testing.T) {
	t.Parallel()
	for v, want := range map[float64]string{.0471: "0.047", .2: "0.20", 5.994: "5.99", 23.44: "23.4", 2648.4: "2648"} {
		if got := number(v); got != want {
			t.Errorf("number(%v) = %s, want %s", v, got, want)
		}
	}
	for v, want := range map[float64]float64{0: 0, .0123456: .01235, 147.26: 147.3, 58912.3: 58910} {
		if got := significant(v); math.Abs(got-want) > 1e-9 {
			t.Errorf("significant(%v) = %v, want %v", v, got, want)
		}
	}
}
