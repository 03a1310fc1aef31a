package fleet_test

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/fleet"
	"github.com/toolhost/toolhost/internal/test/plugintest"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// The binaries of a plugin on two hosts are replaced, one host after the other, by ones whose tools have
// other descriptions, while a third host calls a tool that must not be repeated: no call fails, and each ran
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
		for _, one := range all {
			before := calls.Load()
			require.Eventually(t, "calls", func() bool { return calls.Load() > before+50 })
			plugintest.Deploy(t, one.dir, "versioned", version(n))
			require.NoError(t, one.Sync(t.Context(), one.dir))
			require.Eventually(t, "the new version", func() bool {
				used := a.shared(t, "versioned.count", 1, len(all)).Versions[0]
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

// One of three hosts gets a newer version of a plugin: other words do not make it another tool, and another
// definition is used when so many hosts have it as the rule wants.
func TestHostsOfARule(t *testing.T) {
	t.Parallel()
	const calls = 100
	s := newSite(t)
	roots := map[string]string{}
	deploy := map[string]func(version string){}
	for _, name := range []string{"b", "c", "d"} {
		dir, root := t.TempDir(), t.TempDir()
		plugintest.Deploy(t, dir, "versioned", "1.0.0")
		h := newHost(t, host.WithRoot(root))
		require.Must(h.Load(t.Context(), dir))(t)
		joined(t, h, s.config(name, share("*")))
		roots[name] = root
		deploy[name] = func(version string) {
			plugintest.Deploy(t, dir, "versioned", version)
			require.NoError(t, h.Sync(t.Context(), dir))
		}
	}
	a := join(t, s.config("a", mount("*"), func(c *fleet.Config) { c.Rules = []fleet.Rule{{Tools: "*", Hosts: 2}} }))
	pinned := join(t, s.config("p", mount("*"), func(c *fleet.Config) { c.Rules = []fleet.Rule{{Tools: "*", Version: "1.0.0"}} }))
	// calledBy returns how many of some calls ran on each host.
	calledBy := func(n *node) map[string]int {
		ran := map[string]int{}
		for name, root := range roots {
			text, _ := os.ReadFile(root + "/ledger") // there is none yet
			ran[name] = -strings.Count(string(text), "versioned.count")
		}
		for range calls {
			require.Must(n.Execute(t.Context(), tool.Call{Name: "versioned.count"}))(t)
		}
		for name, root := range roots {
			text, _ := os.ReadFile(root + "/ledger")
			ran[name] += strings.Count(string(text), "versioned.count")
		}
		return ran
	}
	a.shared(t, "versioned.count", 1, 3)
	deploy["b"]("1.1.0-worded")
	require.Eventually(t, "the newest words", func() bool {
		d, _ := a.Get("versioned.count")
		return strings.Contains(d.Description, "1.1.0-worded")
	})
	if ran := calledBy(a); len(a.shared(t, "versioned.count", 1, 3).Versions) != 1 || ran["b"] == 0 || ran["c"] == 0 || ran["d"] == 0 {
		t.Errorf("after a change of words: %v", ran)
	}
	pinned.shared(t, "versioned.count", 2, 3)
	if ran := calledBy(pinned); ran["b"] != 0 {
		t.Errorf("version 1.0.0 is pinned: %v", ran)
	}
	deploy["b"]("1.2.0-harms")
	passed := a.shared(t, "versioned.count", 2, 3).Versions[1]
	if passed.Version != "1.2.0-harms" || passed.Used || !strings.Contains(passed.Reason, "wants 2 hosts that have it, and 1") {
		t.Errorf("%+v", passed)
	}
	if ran := calledBy(a); ran["b"] != 0 || ran["c"]+ran["d"] != calls {
		t.Errorf("one host has the newest version: %v", ran)
	}
	deploy["c"]("1.2.0-harms")
	require.Eventually(t, "the newest version", func() bool {
		used := a.shared(t, "versioned.count", 2, 3).Versions[0]
		d, _ := a.Get("versioned.count")
		return used.Used && len(used.Hosts) == 2 && d.Safety == tool.Dangerous
	})
	require.NoError(t, a.Drain(t.Context(), "c", true)) // one is left that takes calls, as of the other
	require.Eventually(t, "the older version", func() bool {
		return a.shared(t, "versioned.count", 2, 3).Versions[0].Version == "1.0.0"
	})
}

// What is text for people makes no version of a tool, and all else does.
func TestTextsMakeNoVersion(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	schema := func(text string) func(*tool.Definition) {
		return func(d *tool.Definition) { d.InputSchema = tool.Schema(text) }
	}
	var b, c []tool.Tool
	versions := map[string]int{}
	for i, one := range []struct {
		b, c     func(*tool.Definition)
		versions int
	}{
		{idempotent, func(d *tool.Definition) {
			d.Idempotent, d.Title, d.Description, d.MaxRetries = true, "T", "Another.", 3
		}, 1},
		{
			schema(`{"type":"object","properties":{"title":{"type":"string","description":"One.","title":"A"}}}`),
			schema(`{"properties": {"title": {"description": "Two.", "type": "string"}}, "$comment": "", "type": "object"}`), 1,
		},
		{schema(`{"type":"object","properties":{"title":{"type":"string"}}}`), schema(`{"type":"object","properties":{}}`), 2},
		{schema(`{"type":"object","properties":{"description":true}}`), schema(`{"type":"object","properties":{"description":false}}`), 2},
		{
			schema(`{"type":"object","properties":{"title":{},"description":{}},"required":["title"]}`),
			schema(`{"type":"object","properties":{"title":{},"description":{}},"required":["description"]}`), 2,
		},
		{
			schema(`{"type":"object","properties":{"a":{"const":{"title":"1"}}}}`),
			schema(`{"type":"object","properties":{"a":{"const":{"title":"2"}}}}`), 2,
		},
		{
			schema(`{"type":"object","properties":{"a":{"maximum":9007199254740993}}}`),
			schema(`{"type":"object","properties":{"a":{"maximum":9007199254740992}}}`), 2,
		},
		{idempotent, func(*tool.Definition) {}, 2},
		{func(d *tool.Definition) { d.Sensitive = []string{"a"} }, func(*tool.Definition) {}, 2},
		{func(d *tool.Definition) { d.Permission = "fs:read" }, func(*tool.Definition) {}, 2},
	} {
		name := fmt.Sprintf("one.t%d", i)
		b, c, versions[name] = append(b, says(name, "b", one.b)), append(c, says(name, "c", one.c)), one.versions
	}
	join(t, s.config("b", share("*")), b...)
	join(t, s.config("c", share("*")), c...)
	a := join(t, s.config("a", mount("*")))
	for name, want := range versions {
		a.shared(t, name, want, 2)
	}
}
