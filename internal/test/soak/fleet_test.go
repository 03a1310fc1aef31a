package main

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// A short run with three hosts keeps all promises, and says so as JSON.
func TestFleetSoak(t *testing.T) { //nolint:paralleltest // it counts
	if testing.Short() {
		t.Skip("takes 5 s, and wants a machine for itself: .ci/long runs it")
	}
	var out, progress bytes.Buffer
	err := command(t.Context(), []string{"-fleet", "-duration", "4s", "-callers", "8", "-json"}, &out, &progress)
	if err != nil {
		t.Fatalf("%v\n%s%s", err, out.String(), progress.String())
	}
	var r FleetReport
	require.NoError(t, json.Unmarshal(out.Bytes(), &r))
	if r.Calls == 0 || r.Idempotent.Calls+r.Other.Calls != r.Calls || len(r.Samples) < 10 || r.Took == 0 {
		t.Errorf("%+v", r)
	}
	assert.Contains(t, r.table(), "every promise was kept")
}

func TestFleetJudge(t *testing.T) {
	t.Parallel()
	good := func() *FleetReport {
		return &FleetReport{
			Report:    Report{Calls: 2000, Idempotent: Tally{Calls: 1000, Succeeded: 999}, Typed: map[tool.Code]int{tool.CodeUnavailable: 5}},
			Disturbed: map[string]int{"killed": 1}, Samples: make([]Usage, 9),
		}
	}
	for reason, spoil := range map[string]func(*FleetReport){
		"":                  func(r *FleetReport) { r.Samples[4] = Usage{Goroutines: 1000, Descriptors: 1000, HeapInUse: 1 << 40} },
		"nothing was tried": func(r *FleetReport) { r.Disturbed = nil },
		"typed":             func(r *FleetReport) { r.Untyped = 1 },
		"crashed":           func(r *FleetReport) { r.Typed[tool.CodeCrashed] = 1 },
		"99.800 %":          func(r *FleetReport) { r.Idempotent.Succeeded = 998 },
		"more than once":    func(r *FleetReport) { r.Repeated = 1 },
		"never left":        func(r *FleetReport) { r.Lies = 1 },
		"never ran":         func(r *FleetReport) { r.Ghosts = 1 },
		"no answer":         func(r *FleetReport) { r.NoAnswer = 1 },
		"too few":           func(r *FleetReport) { r.Samples = r.Samples[:2] },
		"goroutines grew": func(r *FleetReport) {
			r.Samples[6].Goroutines, r.Samples[8].Goroutines = fleetGoroutines+1, fleetGoroutines+1
		},
		"descriptors grew": func(r *FleetReport) {
			r.Samples[6].Descriptors, r.Samples[8].Descriptors = fleetDescriptors+1, fleetDescriptors+1
		},
		"heap grew": func(r *FleetReport) { r.Samples[7].HeapInUse, r.Samples[8].HeapInUse = fleetHeap+1, fleetHeap+1 },
	} {
		r := good()
		spoil(r)
		r.judge()
		if reason == "" && len(r.Broken) > 0 || reason != "" && !slices.ContainsFunc(r.Broken, func(s string) bool { return strings.Contains(s, reason) }) {
			t.Errorf("%q: %q", reason, r.Broken)
		}
		if reason != "" && !strings.Contains(r.table(), "BROKEN") {
			t.Errorf("%q is not in the table", reason)
		}
	}
}
