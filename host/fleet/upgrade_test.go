package fleet_test

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/internal/test/plugintest"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// The binaries of a plugin on two hosts are replaced, one host after the other, by ones whose tools have
// other definitions, while a third host calls a tool that must not be repeated: no call fails, and each ran
// once.
func TestRollingUpgradeOfPlugins(t *testing.T) {
	t.Parallel()
	const upgrades, callers = 4, 8
	s := newSite(t)
	type site struct {
		*node
		dir, root string
	}
	version := func(n int) string { return fmt.Sprintf("1.%d.0-worded", n) }
	var all []site
	for _, name := range []string{"b", "c"} {
		one := site{dir: t.TempDir(), root: t.TempDir()}
		plugintest.Deploy(t, one.dir, "versioned", version(0))
		h := newHost(t, host.WithRoot(one.root))
		require.Must(h.Load(t.Context(), one.dir))(t)
		one.node = joined(t, h, s.config(name, share("*")))
		all = append(all, one)
	}
	a := join(t, s.config("a", mount("*")))
	a.shared(t, "versioned.count", 1, 2)
	var calls atomic.Int64
	var calling sync.WaitGroup
	stop := make(chan struct{})
	for range callers {
		calling.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				calls.Add(1)
				if _, err := a.Execute(t.Context(), tool.Call{Name: "versioned.count"}); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	for n := 1; n <= upgrades; n++ {
		for i, one := range all {
			before := calls.Load()
			require.Eventually(t, "calls", func() bool { return calls.Load() > before+50 })
			plugintest.Deploy(t, one.dir, "versioned", version(n))
			require.NoError(t, one.Sync(t.Context(), one.dir))
			require.Eventually(t, "the new version", func() bool {
				used := a.shared(t, "versioned.count", len(all)-i, len(all)).Versions[0]
				return used.Version == version(n) && used.Used
			})
			require.Eventually(t, "its definition", func() bool {
				one, _ := a.Get("versioned.count")
				return strings.Contains(one.Description, version(n))
			})
		}
	}
	close(stop)
	calling.Wait()
	ran := 0
	for _, one := range all {
		text := require.Must(os.ReadFile(one.root + "/ledger"))(t)
		ran += strings.Count(string(text), "versioned.count")
	}
	if int64(ran) != calls.Load() {
		t.Errorf("%d calls, %d in the ledgers", calls.Load(), ran)
	}
	t.Logf("%d calls in %d upgrades", calls.Load(), 2*upgrades)
}
