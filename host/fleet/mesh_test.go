package fleet

import (
	"context"
	"flag"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/internal/test/natstest"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

var (
	meshHosts = flag.Int("mesh.hosts", 50, "hosts in one process, each of which mounts the tools of all others")
	meshTools = flag.Int("mesh.tools", 20, "tools of each")
)

// BenchmarkFleetMesh measures what hosts are to each other that have no calls: with the links on which they have read
// what is shared, and when these have been closed.
func BenchmarkFleetMesh(b *testing.B) {
	for b.Loop() {
		key := require.Must(NewKey())(b)
		url := natstest.Start(b, &server.NkeyUser{Nkey: key.Public()})
		empty := simMeasure(true)
		var all []*host.Host
		begin := time.Now()
		for i := range *meshHosts {
			h := require.Must(host.New())(b)
			for n := range *meshTools {
				require.NoError(b, h.Register(tool.Tool{
					Definition: *simDefinition(fmt.Sprintf("h%d.tool-%d", i, n), 1, 3),
					Handler:    func(context.Context, tool.Call) (tool.Result, error) { return tool.Text(""), nil },
				}))
			}
			f := require.Must(Join(b.Context(), h, Config{URL: url, Key: key, Name: fmt.Sprintf("h%d", i), Share: []string{"*"}, Mount: []string{"*"}}))(b)
			all = append(all, h)
			b.Cleanup(func() { _ = f.Close(b.Context()); _ = h.Close(b.Context()) })
		}
		for _, h := range all {
			for h.Len() < *meshHosts**meshTools {
				<-time.After(100 * time.Millisecond)
			}
		}
		b.ReportMetric(time.Since(begin).Seconds(), "joined-s")
		pairs := float64(*meshHosts * (*meshHosts - 1))
		for _, when := range []struct {
			name  string
			after time.Duration
		}{{"linked", 5 * time.Second}, {"resting", 75 * time.Second}} {
			<-time.After(when.after)
			before := simMeasure(false)
			<-time.After(5 * time.Second)
			now := simMeasure(true)
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			b.ReportMetric(float64(now.Goroutines), when.name+"-goroutines")
			b.ReportMetric(float64(now.Heap-empty.Heap+now.Stacks-empty.Stacks)/pairs/1024, when.name+"-KiB/known")
			b.ReportMetric(float64(m.Sys-m.HeapReleased)/(1<<20), when.name+"-MiB")
			b.ReportMetric(100*(now.CPU-before.CPU).Seconds()/5, when.name+"-%cpu")
		}
	}
}
