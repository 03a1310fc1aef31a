package check

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/plugins/internal/source"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// The cache is bounded, and drops what was used longest ago.
func TestPackageCacheIsBounded(t *testing.T) {
	t.Parallel()
	var c packageCache
	name := func(i int) string { return string(rune('A' + i)) }
	for i := range maxPackages {
		c.put(name(i), source.Fingerprint{}, &Package{})
	}
	if c.get(name(0), source.Fingerprint{}) == nil {
		t.Fatal("the first package is gone before there are too many")
	}
	c.put(name(maxPackages), source.Fingerprint{}, &Package{})
	c.put(name(maxPackages+1), source.Fingerprint{}, &Package{})
	if len(c.entries) != maxPackages {
		t.Errorf("%d packages are kept", len(c.entries))
	}
	gone := []string{}
	for i := range maxPackages + 2 {
		if c.entries[name(i)] == nil {
			gone = append(gone, name(i))
		}
	}
	if !slices.Equal(gone, []string{name(1), name(2)}) {
		t.Errorf("%v went, not those used longest ago", gone)
	}
}

// A load that is canceled while it waits for its turn leaves nothing behind.
func TestLoadIsCanceled(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for name, content := range map[string]string{"go.mod": "module example.com/m\n\ngo 1.26\n", "a.go": "package m\n\nconst V = 1\n"} {
		require.NoError(t, os.WriteFile(filepath.Join(root, name), []byte(content), 0o644))
	}
	var w Workspace
	require.NoError(t, w.Open(root))
	s := require.Must(w.Snapshot(t.Context(), ""))(t)
	n := s.Graph.Nodes["example.com/m"]
	// With every slot taken, the load below cannot start.
	var free []func()
	for range maxLoads {
		release := require.Must(w.packages.acquire(t.Context()))(t)
		free = append(free, release)
	}
	ctx, cancel := context.WithCancel(t.Context())
	out := make(chan error, 1)
	go func() {
		_, err := s.Package(ctx, n)
		out <- err
	}()
	cancel()
	assert.ErrorIsf(t, <-out, context.Canceled, "a canceled load ended with")
	for _, release := range free {
		release()
	}
	if p, err := s.Package(t.Context(), n); err != nil || p.Types.Scope().Lookup("V") == nil {
		t.Errorf("after a canceled load: %v, %v", p, err)
	}
}

// Whoever waits for the uses of symbols is told how far the work has got.
func TestProgress(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, content := range map[string]string{
		"go.mod": "module example.com/m\n\ngo 1.26\n", "a.go": "package m\n\nfunc F() {}\n", "b/b.go": "package b\n",
		"b/b_test.go": "package b\n\nfunc f() {}\n",
	} {
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(content), 0o644))
	}
	w := &Workspace{}
	require.NoError(t, w.Open(dir))
	for _, want := range []bool{true, false} { // what is known needs no work
		var got []tool.Progress
		ctx := tool.WithProgress(t.Context(), func(p tool.Progress) { got = append(got, p) })
		s := require.Must(w.Snapshot(ctx, ""))(t)
		require.Must(s.Program(ctx))(t)
		if !want {
			assert.Equalf(t, len(got), 0, "the second time: %+v", got)
			continue
		}
		if len(got) < 3 || got[0].Done != 0 || got[len(got)-1].Done != 6 {
			t.Fatalf("the first time: %+v", got)
		}
		for i, p := range got {
			if p.Total != 6 || p.Message == "" || i > 0 && p.Done <= got[i-1].Done {
				t.Errorf("report %d is %+v after %+v", i, p, got[:i])
			}
		}
	}
}
