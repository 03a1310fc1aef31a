package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

func TestMain(m *testing.M) {
	if isPlugin() {
		serve()
		return
	}
	if text := os.Getenv(nodeVariable); text != "" {
		if err := runNode(text); err != nil {
			panic(err)
		}
		return
	}
	os.Exit(m.Run())
}

// A short run keeps all promises, on every carrier, and says so as JSON.
func TestSoak(t *testing.T) { //nolint:paralleltest // it counts
	var out, progress bytes.Buffer
	err := command(t.Context(), []string{"-duration", "2s", "-callers", "16", "-plugins", "1", "-carrier", "stream,socket,unary", "-json"}, &out, &progress)
	if err != nil {
		t.Fatalf("%v\n%s%s", err, out.String(), progress.String())
	}
	var r Report
	require.NoError(t, json.Unmarshal(out.Bytes(), &r))
	if r.Calls == 0 || r.Kills == 0 || r.Starts < 3 || r.Idempotent.Calls+r.Other.Calls != r.Calls || len(r.Carriers) != 3 {
		t.Errorf("%+v", r)
	}
	assert.Contains(t, r.table(), "every promise was kept")
}

func TestFlags(t *testing.T) {
	t.Parallel()
	for _, args := range []string{"-calls -1", "-callers 0", "-plugins 0", "-every 0s", "-duration -1s", "-carrier pigeon", "more"} {
		var out bytes.Buffer
		if err := command(t.Context(), strings.Fields(args), &out, &out); err == nil || errors.Is(err, errBroken) {
			t.Errorf("%s: %v", args, err)
		}
	}
}

// The judge has to be able to condemn.
func TestJudge(t *testing.T) {
	t.Parallel()
	whole := settings{calls: 2, kills: 1}
	good := func() *Report {
		return &Report{Calls: 2, Kills: 1, Idempotent: Tally{Calls: 100, Succeeded: 95}, Typed: map[tool.Code]int{tool.CodeCrashed: 5}}
	}
	for reason, spoil := range map[string]func(*Report){
		"":               func(*Report) {},
		"1 calls of 2":   func(r *Report) { r.Calls = 1 },
		"0 kills of 1":   func(r *Report) { r.Kills = 0 },
		"typed":          func(r *Report) { r.Untyped = 1 },
		"invalid_result": func(r *Report) { r.Typed[tool.CodeInvalidResult] = 1 },
		"94.000 %":       func(r *Report) { r.Idempotent.Succeeded = 94 },
		"more than once": func(r *Report) { r.Repeated = 1 },
		"never left":     func(r *Report) { r.Lies = 1 },
		"never ran":      func(r *Report) { r.Ghosts = 1 },
		"no answer":      func(r *Report) { r.NoAnswer = 1 },
		"goroutines":     func(r *Report) { r.After.Goroutines = 1 },
		"descriptors":    func(r *Report) { r.After.Descriptors = 1 },
		"heap":           func(r *Report) { r.After.HeapInUse = heapTolerance + 1 },
		"resident":       func(r *Report) { r.After.Resident = residentTolerance + 1 },
		"toolhost-1":     func(r *Report) { r.Left = []string{"toolhost-1"} },
	} {
		r := good()
		spoil(r)
		r.judge(whole)
		if reason == "" && len(r.Broken) > 0 || reason != "" && !strings.Contains(strings.Join(r.Broken, "\n"), reason) {
			t.Errorf("%q: %q", reason, r.Broken)
		}
		if reason != "" && !strings.Contains(r.table(), "BROKEN") {
			t.Errorf("%q is not in the table", reason)
		}
	}
	r := good()
	r.Calls, r.Kills = 1, 1
	if r.judge(settings{calls: 2, kills: 2, duration: 1}); len(r.Broken) > 0 {
		t.Errorf("with a duration: %q", r.Broken)
	}
}

// What the ledger and the caller say of a call decides where it counts.
func TestCount(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		made made
		ran  int
		want Report
	}{
		{"answered", made{false, answered}, 1, Report{Other: Tally{1, 1, 0}}},
		{"twice", made{false, answered}, 2, Report{Other: Tally{1, 1, 0}, Repeated: 1}},
		{"twice, and failed", made{false, failed}, 2, Report{Other: Tally{1, 0, 0}, Repeated: 1}},
		{"repeated", made{true, answered}, 3, Report{Idempotent: Tally{1, 1, 0}}},
		{"a ghost", made{true, answered}, 0, Report{Idempotent: Tally{1, 1, 0}, Ghosts: 1}},
		{"unsent", made{false, unsent}, 0, Report{Other: Tally{1, 0, 1}}},
		{"a lie", made{false, unsent}, 1, Report{Other: Tally{1, 0, 1}, Lies: 1}},
		{"an earlier attempt", made{true, unsent}, 1, Report{Idempotent: Tally{1, 0, 1}}},
		{"lost", made{false, lost}, 1, Report{Other: Tally{1, 0, 0}, NoAnswer: 1}},
	} {
		var got Report
		got.count(c.made, c.ran)
		c.want.Calls = 1
		if text, want := got.table(), c.want.table(); text != want {
			t.Errorf("%s:\n%s\nwant:\n%s", c.name, text, want)
		}
	}
}

func TestFates(t *testing.T) {
	t.Parallel()
	crash := &tool.Error{Code: tool.CodeCrashed, Plugin: "p", Message: "m"}
	never := &tool.Error{Code: tool.CodeUnavailable, Plugin: "p", Message: "m", Unsent: true}
	for _, c := range []struct {
		name    string
		res     tool.Result
		err     error
		want    fate
		untyped int
	}{
		{"answer", tool.Text("id"), nil, answered, 0},
		{"another's", tool.Text("di"), nil, failed, 1},
		{"trouble", tool.Failure("id"), nil, failed, 1},
		{"crash", tool.Result{}, crash, failed, 0},
		{"unsent", tool.Result{}, never, unsent, 0},
		{"late", tool.Result{}, &tool.Error{Code: tool.CodeDeadlineExceeded, Plugin: "p"}, lost, 0},
		{"unclaimed", tool.Result{}, &tool.Error{Code: tool.CodeCrashed}, failed, 1},
		{"no type", tool.Result{}, errors.New("oh"), failed, 1},
		{"bare", tool.Result{}, context.DeadlineExceeded, failed, 1},
		{"a fault", tool.Result{}, &tool.Error{Code: tool.CodeInternal, Plugin: "p"}, failed, 1},
	} {
		k := &caller{codes: map[tool.Code]int{}}
		if got := k.judge("id", c.res, c.err); got != c.want || k.untyped != c.untyped {
			t.Errorf("%s: %v, %d untyped", c.name, got, k.untyped)
		}
	}
}

func TestLedger(t *testing.T) {
	t.Parallel()
	path := ledgerOf(t.TempDir(), "p")
	ran := runs{}
	if err := ran.read(path); err != nil {
		t.Errorf("none: %v", err)
	}
	for range 2 { // as two processes
		l := require.Must(openLedger(path))(t)
		defer func() { _ = l.file.Close() }()
		require.NoError(t, errors.Join(l.add(callID(3, 1000)), l.add(callID(0, 0))))
	}
	require.NoError(t, ran.read(path))
	assert.EqualSlices(t, []int{ran.of(3, 1000), ran.of(0, 0), ran.of(3, 0), ran.of(3, 1001), ran.of(7, 7)}, []int{2, 2, 0, 0, 0})
	for _, line := range []string{"call-1-1\n", strings.Repeat(" ", recordSize-1) + "\n", "call--1-1" + strings.Repeat(" ", recordSize-10) + "\n", strings.Repeat("x", recordSize)} {
		bad := filepath.Join(t.TempDir(), "bad")
		require.NoError(t, os.WriteFile(bad, []byte(line), 0o600))
		if err := (runs{}).read(bad); err == nil {
			t.Errorf("%q is taken", line)
		}
	}
}
