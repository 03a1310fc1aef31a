package egress

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/internal/test/assert"
)

// Millions of connections to as many hosts are a few reports and a few entries.
func TestLedgerIsBounded(t *testing.T) {
	t.Parallel()
	var reports []Event
	p := New(nil, Options{Report: func(e Event) { reports = append(reports, e) }})
	n, want := 10_000, []int64{1, 10, 100, 1000, 10_000}
	if !testing.Short() { // which takes 20 s with the race detector
		n, want = 1_000_000, append(want, 100_000, 1_000_000)
	}
	for i := range n {
		p.report(Refused, fmt.Sprintf("h%d.example.com:443", i), "why")
	}
	for range n {
		p.report(Connected, "api.example.com:443", "")
	}
	stats := p.Stats()
	if len(stats.Events) != targets+2 || stats.Count(Refused) != int64(n) || stats.Count(Connected) != int64(n) || stats.Count(Failed) != 0 {
		t.Errorf("%d events, %d refused, %d connected", len(stats.Events), stats.Count(Refused), stats.Count(Connected))
	}
	if e := stats.Events[targets]; e != (Event{Target: Others, Outcome: Refused, Count: int64(n - targets)}) {
		t.Errorf("the others are %+v", e)
	}
	if e := stats.Events[0]; e != (Event{"h0.example.com:443", Refused, "why", 1}) {
		t.Errorf("the first is %+v", e)
	}
	var counts []int64
	for _, e := range reports {
		if e.Target == "api.example.com:443" {
			counts = append(counts, e.Count)
		}
	}
	assert.EqualSlicesf(t, counts, want, "reported at")
	if len(reports) > targets+20 {
		t.Errorf("%d reports", len(reports))
	}
}

// The operator sees what the plugin wanted, and what it was told.
func TestReports(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "api.example.com:443", "down.example.com:443")
	w.at("api.example.com", "93.184.216.34:443", server(t, echo))
	for range 2 {
		_ = w.tunnel("api.example.com:443").Close()
		_ = w.raw("CONNECT OTHER.example.org.:443 HTTP/1.1\r\n\r\n")
		_ = w.raw("CONNECT down.example.com:443 HTTP/1.1\r\n\r\n")
		_ = w.raw("CONNECT \x7f:1 HTTP/1.1\r\n\r\n")
		_ = w.raw("CONNECT a/b:1 HTTP/1.1\r\n\r\n")
		_ = w.raw("\x00")
	}
	want := []Event{
		{"api.example.com:443", Connected, "", 1},
		{"other.example.org:443", Refused, "the sandbox of plugin probe does not allow connections to other.example.org:443; the operator can add it to net", 1},
		{"down.example.com:443", Failed, "down.example.com cannot be resolved: there is no such name", 1},
		{"", Refused, malformed, 1},
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	assert.EqualSlicesf(t, w.events, want, "reported")
	if s := w.proxy.Stats(); s.Count(Connected) != 2 || s.Count(Refused) != 6 || s.Count(Failed) != 2 {
		t.Errorf("counted: %+v", s)
	}
}

func TestEnviron(t *testing.T) {
	t.Parallel()
	env := Environ("127.0.0.1:3128")
	for _, want := range []string{"HTTPS_PROXY=http://127.0.0.1:3128", "http_proxy=http://127.0.0.1:3128", "NODE_USE_ENV_PROXY=1"} {
		if !slices.Contains(env, want) {
			t.Errorf("%v does not have %s", env, want)
		}
	}
	if slices.ContainsFunc(env, func(s string) bool { return strings.HasPrefix(strings.ToUpper(s), "ALL_PROXY") }) {
		t.Errorf("%v has ALL_PROXY", env)
	}
}
