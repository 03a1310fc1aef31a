package fleet_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/fleet"
	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/plugintest"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// lively returns a host with a plugin that keeps state for sessions, and the plugin's workspace, in
// whose file "ended" is a line for each session that has ended.
func (s *site) lively(t *testing.T, name string, change ...func(*fleet.Config)) (n *node, root string) {
	t.Helper()
	root = t.TempDir()
	dir := plugintest.Dir(t, plugintest.Lively)
	h := newHost(t, host.WithRoot(root))
	require.Must(h.Load(t.Context(), dir))(t)
	return joined(t, h, s.config(name, append(change, share("*"))...)), root
}

func ended(root string) int {
	text, _ := os.ReadFile(root + "/ended") // there is none at first
	return strings.Count(string(text), "\n")
}

// visit calls the plugin, which answers with the number of the session's calls, and that of its sessions.
func visit(t *testing.T, s *host.Session, want string) {
	t.Helper()
	res, err := s.Execute(t.Context(), tool.Call{Name: "lively.visit"})
	if err != nil || res.Text() != want {
		t.Errorf("%q %v, want %q", res.Text(), err, want)
	}
}

// counter is such a plugin in this process, for a bubble. As nothing tells a server of the end of sessions,
// it is attached too: those that have called lively.follow are followed to their end.
type counter struct {
	mu     sync.Mutex
	visits map[string]int
	ended  atomic.Int32
	done   chan struct{}
}

// counting returns a host with a counter.
func (s *site) counting(t *testing.T, name string, change ...func(*fleet.Config)) (*node, *counter) {
	t.Helper()
	h, c := newHost(t), &counter{visits: map[string]int{}, done: make(chan struct{})}
	_, err := h.Mount(t.Context(), plugin.Server{Name: "lively", Identity: "lively", Connector: c})
	require.NoError(t, err)
	_, err = h.Attach(t.Context(), "follower", c)
	require.NoError(t, err)
	return joined(t, h, s.config(name, append(change, share("*"))...)), c
}

func (*counter) Command() *plugin.Command { return nil }
func (c *counter) Connect(context.Context, io.ReadWriteCloser, plugin.Events) (plugin.Connection, error) {
	return c, nil
}

func (c *counter) Description() plugin.Description {
	return plugin.Description{KeepsSessions: true, Tools: []tool.Definition{says("lively.visit", "").Definition}}
}

func (*counter) List(context.Context) ([]tool.Definition, error) {
	return []tool.Definition{says("lively.follow", "").Definition}, nil
}

func (c *counter) Execute(_ context.Context, call tool.Call) (tool.Result, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if call.Name == "lively.visit" {
		c.visits[call.Session]++
	}
	return tool.Text(fmt.Sprintf("%d of %d", c.visits[call.Session], len(c.visits))), nil
}

func (c *counter) EndSession(session string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.visits, session)
	c.ended.Add(1)
}

func (c *counter) Done() <-chan struct{}     { return c.done }
func (*counter) Err() error                  { return nil }
func (*counter) Close(context.Context) error { return nil }

// follow has the counter be told of the session's end.
func follow(t *testing.T, s *host.Session) {
	t.Helper()
	_, err := s.Execute(t.Context(), tool.Call{Name: "lively.follow"})
	require.NoError(t, err)
}

// called returns the only host that has answered a call.
func (n *node) called(t *testing.T) string {
	t.Helper()
	name := ""
	for _, h := range n.Hosts() {
		if h.Latency > 0 {
			if name != "" {
				t.Fatal("several hosts were called")
			}
			name = h.Name
		}
	}
	return name
}

// A session stays with the host that has its state, also while that drains; others go elsewhere. Its host
// is told when it ends.
func TestSessionStays(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	roots := map[string]string{}
	_, roots["b"] = s.lively(t, "b")
	_, roots["c"] = s.lively(t, "c")
	a := join(t, s.config("a", mount("*")))
	a.shared(t, "lively.visit", 1, 2)
	first, second := a.Session(), a.Session()
	visit(t, first, "1 of 1")
	at := a.called(t)
	require.NoError(t, a.Drain(t.Context(), at, true))
	require.Eventually(t, "the host to drain", func() bool { return a.state(at) == fleet.HostDraining })
	visit(t, first, "2 of 1")
	visit(t, second, "1 of 1")
	visit(t, second, "2 of 1")
	visit(t, first, "3 of 1")
	assert.NoError(t, first.Close(t.Context()))
	other := map[string]string{"b": "c", "c": "b"}[at]
	require.Eventually(t, "the end of the first session", func() bool { return ended(roots[at]) == 1 })
	assert.Equalf(t, ended(roots[other]), 0, "the other session has ended too")
	assert.NoError(t, second.Close(t.Context()))
	require.Eventually(t, "the end of the second session", func() bool { return ended(roots[other]) == 1 })
}

// The host of a session's state is killed: the session is told once, and begins again elsewhere.
func TestSessionLost(t *testing.T) { //nolint:paralleltest // bubbles are alone
	bubble(t, func(t *testing.T, s *site) {
		p := s.proxied(t)
		s.counting(t, "b", at(p))
		a := join(t, s.config("a", mount("*")))
		a.shared(t, "lively.visit", 1, 1)
		session := a.Session()
		visit(t, session, "1 of 1")
		s.counting(t, "c")
		a.shared(t, "lively.visit", 1, 2)
		visit(t, session, "2 of 1")
		p.end()
		require.Eventually(t, "the host to be gone", func() bool { return a.state("b") == "" })
		_, err := session.Execute(t.Context(), tool.Call{Name: "lively.visit"})
		if e := tool.AsError(err); e == nil || e.Code != tool.CodeUnavailable ||
			!strings.Contains(e.Message, "the state that the session had in plugin lively is lost with host b") ||
			!strings.Contains(e.Hint, "begin again") {
			t.Errorf("%+v", err)
		}
		visit(t, session, "1 of 1")
		visit(t, session, "2 of 1")
	})
}

// Connections are lost for a moment: the state stays, whoever has lost his.
func TestSessionReconnects(t *testing.T) { //nolint:paralleltest // bubbles are alone
	bubble(t, func(t *testing.T, s *site) {
		caller, callee := s.proxied(t), s.proxied(t)
		_, plugin := s.counting(t, "b", at(callee))
		a := join(t, s.config("a", mount("*"), at(caller)))
		a.shared(t, "lively.visit", 1, 1)
		session := a.Session()
		visit(t, session, "1 of 1")
		follow(t, session)
		for i, p := range []*proxy{caller, callee} {
			p.cut()
			require.Eventually(t, "a call", func() bool {
				res, err := session.Execute(t.Context(), tool.Call{Name: "lively.visit"})
				if err == nil && res.Text() != []string{"2 of 1", "3 of 1"}[i] {
					t.Fatalf("%q", res.Text())
				}
				return err == nil
			})
		}
		assert.NoError(t, session.Close(t.Context()))
		require.Eventually(t, "the end of the session", func() bool { return plugin.ended.Load() == 1 })
	})
}

// A host is out of reach until the others count it as gone, and comes back. The session goes on if it was
// not told of a loss, and what was said to be lost is not there again. Ends of sessions are made up for.
func TestSessionOfHostOutOfReach(t *testing.T) { //nolint:paralleltest // bubbles are alone
	bubble(t, func(t *testing.T, s *site) {
		p := s.proxied(t)
		_, plugin := s.counting(t, "b", at(p))
		a := join(t, s.config("a", mount("*")))
		a.shared(t, "lively.visit", 1, 1)
		patient, told, over := a.Session(), a.Session(), a.Session()
		visit(t, patient, "1 of 1")
		visit(t, told, "1 of 2")
		visit(t, over, "1 of 3")
		follow(t, over)
		c, _ := s.counting(t, "c") // so that there is the tool
		a.shared(t, "lively.visit", 1, 2)
		p.lose(func(bool, string) bool { return true })
		require.Eventually(t, "the host to be gone", func() bool { return a.state("b") == "" })
		_, err := told.Execute(t.Context(), tool.Call{Name: "lively.visit"})
		assert.ErrorContains(t, err, "is lost with host b")
		assert.NoError(t, over.Close(t.Context()))
		_ = c.Fleet.Close(t.Context())
		require.Eventually(t, "the other host to be gone", func() bool { return a.state("c") == "" })
		p.lose(nil)
		require.Eventually(t, "the tool, by the host that is back", func() bool { // not what is about to be withdrawn
			return a.state("b") != "" && a.has("lively.visit") && slices.ContainsFunc(a.Fleet.Tools(), func(s fleet.ToolStatus) bool {
				return s.Name == "lively.visit" && slices.Equal(s.Versions[0].Hosts, []string{"b"})
			})
		})
		visit(t, patient, "2 of 2")
		require.Eventually(t, "the end of the session", func() bool { return plugin.ended.Load() == 1 })
		visit(t, told, "1 of 3")
	})
}
