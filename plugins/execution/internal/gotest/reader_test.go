package gotest

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/plugins/execution/internal/gocheck"
)

// read reads the output of tests, given as lines of ACTION TEST OUTPUT in package p.
func read(t *testing.T, verbose bool, lines ...string) Result {
	t.Helper()
	same := func(s string) string { return s }
	r := NewReader(Options{
		Place: func(file string) (string, bool) {
			return strings.TrimPrefix(file, "/w/"), strings.HasPrefix(file, "/w/")
		},
		Scrub: same, Verbose: verbose,
		Problems: &gocheck.Problems{Place: same, Scrub: same},
	})
	for _, line := range lines {
		action, rest, _ := strings.Cut(line, " ")
		name, output, _ := strings.Cut(rest, " ")
		e := map[string]any{"Action": action, "Package": "p", "Test": strings.Trim(name, "-")}
		if action == "output" {
			e["Output"] = output + "\n"
		}
		text := require.Must(json.Marshal(e))(t)
		for _, part := range strings.SplitAfter(string(text)+"\n", ":") { // lines come in pieces
			_, _ = r.Write([]byte(part))
		}
	}
	return r.Result()
}

func TestReader(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		lines []string
		want  string // passed, failed, skipped, and the failures' kinds, tests and places
	}{
		"a parent fails with its subtest": {[]string{
			"run A", "run A/x", "output A/x     /w/a.go:1: no", "fail A/x", "output A --- FAIL: A", "fail A", "run B", "pass B", "fail",
		}, "1 1 0 [fail A/x a.go:1]"},
		"a parent fails on its own too": {[]string{
			"run A", "run A/x", "output A/x     /w/a.go:1: no", "fail A/x", "output A     /w/a.go:9: after", "fail A", "fail",
		}, "0 2 0 [fail A a.go:9 fail A/x a.go:1]"},
		"a subtest panics, and the parent tells it": {[]string{
			"run A", "run A/x", "fail A/x", "output A panic: no [recovered, repanicked]", "output A ", "output A goroutine 5 [running]:",
			"output A p.A.func1(0x1, {0x2, 0x3})", "output A \t/w/a.go:3 +0x2", "fail A", "fail",
		}, "0 1 0 [panic A/x a.go:3]"},
		"it runs twice and fails once": {[]string{
			"run A", "output A     /w/a.go:1: no", "fail A", "run A", "pass A", "fail",
		}, "1 1 0 [fail A a.go:1]"},
		"the package fails before its tests": {[]string{"output - no database", "fail"}, "0 1 0 [exit  ]"},
		"it did not end":                     {[]string{"run A", "pass A", "run B", "output B waiting"}, "1 1 0 [unfinished B ]"},
		"a race": {[]string{
			"run A", "output A ==================", "output A WARNING: DATA RACE", "output A Read at 0x1 by goroutine 9:",
			"output A   testing.tRunner()", "output A       /go/testing.go:3 +0x1", "output A   p.A()", "output A       /w/a.go:7 +0x33",
			"output A ==================", "fail A", "fail",
		}, "0 1 0 [race A a.go:7]"},
		"the call's time is over": {[]string{
			"run A", "output A SIGQUIT: quit", "output A PC=0x48c221 m=0 sigcode=0", "output A ", "output A goroutine 0 gp=0x1 m=0 mp=0x2 [idle]:",
			"output A runtime.futex(0x9a5858)", "output A \t/go/sys.s:5 +0x21 fp=0x1 sp=0x2 pc=0x3", "output A ",
			"output A goroutine 7 gp=0x3 m=nil [chan receive]:", "output A p.A(0x1)", "output A \t/w/a.go:8 +0x2 fp=0x1 sp=0x2 pc=0x3",
		}, "0 1 0 [timeout A a.go:8]"},
		"a skip": {[]string{"run A", "output A     /w/a.go:1: not here", "skip A", "pass"}, "0 0 1 []"},
	} {
		r := read(t, false, c.lines...)
		var failures []string
		for _, f := range r.Failures {
			failures = append(failures, f.Kind+" "+f.Test+" "+f.Position)
		}
		assert.Equalf(t, fmt.Sprint(r.Passed, r.Failed, r.Skipped, failures), c.want, "%s", name)
	}
}

// What tests print is bounded, whatever they print and however many there are.
func TestReaderIsBounded(t *testing.T) {
	t.Parallel()
	lines := []string{"run A"}
	for i := range 20_000 {
		lines = append(lines, fmt.Sprintf("output A line %d", i))
	}
	for i := range 2 * maxFailures {
		lines = append(lines, fmt.Sprintf("run T%d", i), fmt.Sprintf("fail T%d", i))
	}
	r := read(t, false, append(lines, "fail A", "fail")...)
	if r.Failed != 2*maxFailures+1 || len(r.Failures) != maxFailures {
		t.Errorf("%d failed, %d are told", r.Failed, len(r.Failures))
	}
	text := r.Failures[0].Output
	if len(text) > 2*maxTest || !strings.HasPrefix(text, "line 0\n") || !strings.HasSuffix(text, "line 19999") {
		t.Errorf("the output has %d bytes", len(text))
	}
}

func TestNames(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                  "-timeout=1s",
		"TestA":             "-timeout=1s -run=^TestA$",
		"TestA/sub one/b.c": `-timeout=1s -run=^TestA$/^sub_one$/^b\.c$`,
		"TestA|TestB":       "-timeout=1s -run=TestA|TestB",
		"Test":              "-timeout=1s -run=Test",
		"BenchmarkX":        "-timeout=1s -run=^$ -bench=^BenchmarkX$",
	} {
		n, err := ParseName(text)
		if got := strings.Join(n.Flags(1e9), " "); err != nil || got != want {
			t.Errorf("%q: %s, %v", text, got, err)
		}
	}
	if _, err := ParseName("Test("); err == nil {
		t.Error("an expression that is none is taken")
	}
}
