package pluginrun_test

import (
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/pluginrun"
	"github.com/toolhost/toolhost/internal/test/require"
)

// A server that has other tools each time that it is asked, and says so without end, is asked at
// once for a few times, then at a pace, and the less often the longer it takes the host to make
// something of them. One that took long does not hold up the next.
func TestChangesArePacedByTheirCost(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		cost  time.Duration
		began []int64 // milliseconds
	}{
		"at once": {0, []int64{0, 0, 0, 0, 0, 250, 500, 750}},
		"shortly": {20 * time.Millisecond, []int64{0, 20, 40, 60, 80, 249, 499}},
		"a while": {400 * time.Millisecond, []int64{0, 400, 800, 2400, 6400, 10_400}},
		"long":    {7 * time.Second, []int64{0, 67_000, 134_000}}, // a pause is a minute at most
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := newRemote()
				r.described, r.changed = &atomic.Int32{}, make(chan func(), 1)
				var began []int64
				var changed func()
				start := time.Now()
				p := reach(t, plugin.Server{Name: "r", Connector: r, Identity: "here"}, func(cfg *pluginrun.Config) {
					cfg.Changed = func() {
						began = append(began, time.Since(start).Milliseconds())
						time.Sleep(c.cost) // as compiling what it describes takes
						if len(began) < len(c.began) {
							changed()
						}
					}
				})
				require.NoError(t, p.Ready(t.Context()))
				changed = <-r.changed
				after(time.Hour) // which is nothing to a server that says nothing
				began, start = nil, time.Now()
				changed()
				after(time.Hour)
				if !slices.Equal(began, c.began) {
					t.Errorf("it was asked after %v ms, want %v", began, c.began)
				}
			})
		})
	}
}
