package fleet

import (
	"context"
	"fmt"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/internal/test/natstest"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// What a host costs another one that knows it, in bytes of heap, and both ends of an open link, in bytes of heap and
// stacks, with what the server in this process keeps of them.
const (
	mostOfKnown = 4 << 10
	mostOfLink  = 64 << 10
)

func TestWhatHostsCost(t *testing.T) { //nolint:paralleltest // bubbles are alone, as is who counts memory
	if testing.Short() {
		t.Skip("takes 8 s of CPU time: .ci/long runs it")
	}
	const hosts = 16
	var keys []Key
	var users []*server.NkeyUser
	for range hosts {
		k := require.Must(NewKey())(t)
		keys, users = append(keys, k), append(users, &server.NkeyUser{Nkey: k.Public()})
	}
	natstest.Bubble(t, func(t *testing.T, s *server.Server) {
		all, peers := make([]*Fleet, hosts), map[string]Peer{}
		for i, k := range keys {
			h := require.Must(host.New())(t)
			require.NoError(t, h.Register(tool.Tool{
				Definition: *simDefinition("tool", 1, 3),
				Handler:    func(context.Context, tool.Call) (tool.Result, error) { return tool.Text(""), nil },
			}))
			name := fmt.Sprint("host-", i)
			peers[name] = Peer{Key: k.Public()}
			all[i] = require.Must(Join(t.Context(), h, Config{
				URL: "nats://in.memory", Options: []nats.Option{nats.InProcessServer(s)}, Key: k, Name: name, Prefix: "far.",
				Share: []string{"*"}, Mount: []string{"*"},
			}))(t)
			t.Cleanup(func() { _ = all[i].Close(context.Background()); _ = h.Close(context.Background()) })
		}
		measure := func() simUsage {
			synctest.Wait()
			for range 4 { // each halves the stacks that are too large
				runtime.GC()
			}
			return simMeasure(true)
		}
		know := func(peers map[string]Peer) {
			for _, f := range all {
				require.NoError(t, f.Reconfigure(Config{Share: []string{"*"}, Mount: []string{"*"}, Prefix: "far.", Peers: peers}))
			}
			time.Sleep(20 * time.Second)
		}
		know(peers)
		time.Sleep(75 * time.Second)
		know(nil)
		time.Sleep(75 * time.Second)
		for _, f := range all {
			f.directory.mu.Lock()
			clear(f.strangers)
			f.directory.mu.Unlock()
		}
		alone := measure() // with what the runtime keeps for as many goroutines
		know(peers)
		linked := measure()
		time.Sleep(75 * time.Second)
		resting := measure()
		for i, f := range all {
			if now := f.Tools(); len(now) != 1 || len(now[0].Versions[0].Hosts) != hosts-1 {
				t.Fatalf("host %d has mounted %+v", i, now)
			}
		}
		const pairs = hosts * (hosts - 1)
		known := float64(resting.Heap-alone.Heap) / pairs
		link := float64(linked.Heap-resting.Heap+linked.Stacks-resting.Stacks) / pairs
		t.Logf("a known host: %.0f bytes, a link: %.0f bytes and %d goroutines", known, link, (linked.Goroutines-resting.Goroutines)/pairs)
		if known > mostOfKnown || link > mostOfLink || resting.Goroutines > alone.Goroutines {
			t.Errorf("a host that is known costs %.0f bytes and a link %.0f; goroutines: %d, %d, %d",
				known, link, alone.Goroutines, linked.Goroutines, resting.Goroutines)
		}
	}, users...)
}
