package fleet_test

import (
	"sync/atomic"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/toolhost/toolhost/host/fleet"
	"github.com/toolhost/toolhost/internal/test/natstest"
	"github.com/toolhost/toolhost/internal/test/require"
)

// A cluster loses the server that one host is connected to, then that of the caller, and gets both back:
// calls that may be repeated all succeed, and the others end once.
func TestClusterLosesServers(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 4 s of CPU time: .ci/long runs it")
	}
	t.Parallel()
	keyFile := t.TempDir() + "/fleet.key"
	key := require.Must(fleet.KeyFile(keyFile))(t)
	cluster := natstest.NewCluster(t, key.Public())
	s := &site{key: key, url: cluster.URL(0)}
	at := func(server int) func(*nodeSpec) {
		return func(spec *nodeSpec) { spec.URL = cluster.URL(server) }
	}
	b, c := s.start(t, keyFile, "b", at(1)), s.start(t, keyFile, "c", at(2))
	a := join(t, s.config("a", mount("*"), func(c *fleet.Config) { c.Options = []nats.Option{nats.DontRandomize()} }))
	a.shared(t, "work.once", 1, 2)
	var calls atomic.Int64
	over := make(chan struct{})
	done := make(chan *load)
	go func() {
		done <- a.load(t, 16, func(n int64) bool {
			calls.Store(n)
			select {
			case <-over:
				return false
			default:
				return true
			}
		})
	}()
	for _, lost := range []int{1, 0} {
		more := calls.Load() + 1000
		require.Eventually(t, "more calls", func() bool { return calls.Load() > more })
		cluster.Stop(lost)
		more = calls.Load() + 1000
		require.Eventually(t, "more calls without it", func() bool { return calls.Load() > more })
		cluster.Start(lost)
		cluster.Ready()
		a.shared(t, "work.once", 1, 2)
	}
	close(over)
	l := <-done
	l.check(t, b, c)
	if l.lost.Load() == 0 {
		t.Log("no call was lost with a server")
	}
}
