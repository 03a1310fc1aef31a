package durable_test

import (
	"context"
	"runtime"
	"testing"
	"time"

	"github.com/toolhost/toolhost/internal/durable"
	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// What begins with a host's calls ends with them. The test runs before all parallel ones.
func TestLeaksNothing(t *testing.T) { //nolint:paralleltest // it counts goroutines
	s := newSite(t, 2)
	add := noted("add", new(ledger), true, nil)
	round := func() {
		worker := s.join(1, []tool.Tool{add}, trusting(s.peers(0)))
		caller := s.join(0, nil, remote(add), trusting(s.peers(1)))
		caller.wait(t, caller.submit(t, durable.Request{Tool: "add", Arguments: args("a")}))
		for _, p := range []*party{caller, worker} {
			assert.NoError(t, p.Close(t.Context()))
			p.nc.Close()
			assert.NoError(t, p.host.Close(context.Background()))
		}
	}
	round()
	settled := runtime.NumGoroutine()
	for end := time.Now().Add(time.Second); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		settled = min(settled, runtime.NumGoroutine())
	}
	for range 5 {
		round()
	}
	require.Eventually(t, "no more goroutines run than before", func() bool { return runtime.NumGoroutine() <= settled+3 })
}
