package host_test

import (
	"fmt"
	"testing"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/internal/test/plugintest"
	"github.com/toolhost/toolhost/internal/test/require"
)

// BenchmarkLoadCached100 is a new host that lists the 500 tools of 100 plugins from
// the cache, and starts none.
func BenchmarkLoadCached100(b *testing.B) {
	dir, root, cache := plugintest.Dir(b), b.TempDir(), b.TempDir()
	for i := range 100 {
		plugintest.Install(b, dir, fmt.Sprintf("named-%03d", i))
	}
	load := func() {
		h := require.Must(host.New(host.WithRoot(root), host.WithCache(cache)))(b)
		if n, err := h.Load(b.Context(), dir); n != 100*plugintest.NamedTools || err != nil {
			b.Fatal(n, err)
		}
		require.NoError(b, h.Close(b.Context()))
	}
	load()
	b.ReportAllocs()
	for b.Loop() {
		load()
	}
}
