package main

import (
	"encoding/json"
	"flag"
	"math"
	"os"
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

// What misses its target is shown with the digits that say so.
func TestMissedTargetsAreShown(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		target, measured float64
		least            bool
		want             string
	}{
		{.62, .6248, false, "0.625"},
		{.18, .1833, false, "0.183"},
		{.62, .62, false, "0.62"},
		{.62, .6152, false, "0.62"},
		{.62, .71, false, "0.71"},
		{60, 60.04, false, "60.04"},
		{.8, .7996, true, "0.7996"},
		{20, 20, true, "20.0"},
		{0, 2, false, "2.00"},
	} {
		if got := (judged{key{target: c.target, least: c.least}, c.measured}).text(); got != c.want {
			t.Errorf("%v, with the target %v, is shown as %s, want %s", c.measured, c.target, got, c.want)
		}
	}
}

var update = flag.Bool("update", false, "write the table of keys in docs/bench/latest.md")

// The table of keys in the newest report is what is written of latest.json.
func TestNewestKeys(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(defaultOut + "/latest.json")
	if err != nil {
		t.Fatal(err)
	}
	var latest map[string]any
	if err := json.Unmarshal(text, &latest); err != nil {
		t.Fatal(err)
	}
	var r report
	for _, m := range measurements() {
		for _, k := range m.keys {
			if v, ok := latest[k.name].(float64); ok {
				r.keys = append(r.keys, judged{k, v})
			}
		}
	}
	var table strings.Builder
	r.writeKeys(&table)
	page, err := os.ReadFile(defaultOut + "/latest.md")
	if err != nil {
		t.Fatal(err)
	}
	others, _, _ := strings.Cut(string(page), "\n| key |")
	if want := others + table.String(); want != string(page) {
		if !*update {
			t.Fatal("the keys in docs/bench/latest.md are not those of latest.json: run go test -run Newest -update")
		}
		if err := os.WriteFile(defaultOut+"/latest.md", []byte(want), 0o644); err != nil { //nolint:gosec // a document
			t.Fatal(err)
		}
	}
}

func TestNumbers(t *testing.T) {
	t.Parallel()
	for v, want := range map[float64]string{.0471: "0.047", .2: "0.20", 1.845: "1.85", 5.994: "5.99", 23.44: "23.4", 2648.4: "2648"} {
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
