//go:build unix

package fleet_test

import (
	"os"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/fleet"
	"github.com/toolhost/toolhost/internal/test/plugintest"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// lively returns a host with a plugin that keeps state for sessions, and the plugin's workspace, in
// whose file "ended" is a line for each session that has ended.
func (s *site) lively(t *testing.T, name string, change ...func(*fleet.Config)) (n *node, root string) {
	t.Helper()
	root = t.TempDir()
	dir := plugintest.Dir(t, plugintest.Lively)
	h := newHost(t, host.WithRoot(root))
	if _, err := h.Load(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
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
	if err := a.Drain(t.Context(), at, true); err != nil {
		t.Fatal(err)
	}
	until(t, "the host to drain", func() bool { return a.state(at) == fleet.HostDraining })
	visit(t, first, "2 of 1")
	visit(t, second, "1 of 1")
	visit(t, second, "2 of 1")
	visit(t, first, "3 of 1")
	if err := first.Close(t.Context()); err != nil {
		t.Error(err)
	}
	other := map[string]string{"b": "c", "c": "b"}[at]
	until(t, "the end of the first session", func() bool { return ended(roots[at]) == 1 })
	if ended(roots[other]) != 0 {
		t.Error("the other session has ended too")
	}
	if err := second.Close(t.Context()); err != nil {
		t.Error(err)
	}
	until(t, "the end of the second session", func() bool { return ended(roots[other]) == 1 })
}

// The host of a session's state is killed: the session is told once, and begins again elsewhere.
func TestSessionLost(t *testing.T) {
	t.Parallel()
	s, keyFile := siteWithFile(t)
	plugins := t.TempDir() // the plugin of a killed host ends when it notices
	plugintest.Install(t, plugins, string(plugintest.Lively))
	b := s.start(t, keyFile, "b", func(spec *nodeSpec) { spec.Plugins = plugins })
	a := join(t, s.config("a", mount("*")))
	a.shared(t, "lively.visit", 1, 1)
	session := a.Session()
	visit(t, session, "1 of 1")
	s.lively(t, "c")
	a.shared(t, "lively.visit", 1, 2)
	visit(t, session, "2 of 1")
	if err := b.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	until(t, "the host to be gone", func() bool { return a.state("b") == "" })
	_, err := session.Execute(t.Context(), tool.Call{Name: "lively.visit"})
	if e := tool.AsError(err); e == nil || e.Code != tool.CodeUnavailable ||
		!strings.Contains(e.Message, "the state that the session had in plugin lively is lost with host b") ||
		!strings.Contains(e.Hint, "begin again") {
		t.Errorf("%+v", err)
	}
	visit(t, session, "1 of 1")
	visit(t, session, "2 of 1")
}

// Connections are lost for a moment: the state stays, whoever has lost his.
func TestSessionReconnects(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	caller, callee := s.proxied(t), s.proxied(t)
	_, root := s.lively(t, "b", at(callee))
	a := join(t, s.config("a", mount("*"), at(caller)))
	a.shared(t, "lively.visit", 1, 1)
	session := a.Session()
	visit(t, session, "1 of 1")
	for i, p := range []*proxy{caller, callee} {
		p.cut()
		until(t, "a call", func() bool {
			res, err := session.Execute(t.Context(), tool.Call{Name: "lively.visit"})
			if err == nil && res.Text() != []string{"2 of 1", "3 of 1"}[i] {
				t.Fatalf("%q", res.Text())
			}
			return err == nil
		})
	}
	if err := session.Close(t.Context()); err != nil {
		t.Error(err)
	}
	until(t, "the end of the session", func() bool { return ended(root) == 1 })
}

// A host is out of reach until the others count it as gone, and comes back. The session goes on if it was
// not told of a loss, and what was said to be lost is not there again. Ends of sessions are made up for.
func TestSessionOfHostOutOfReach(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	p := s.proxied(t)
	_, root := s.lively(t, "b", at(p))
	a := join(t, s.config("a", mount("*")))
	a.shared(t, "lively.visit", 1, 1)
	patient, told, over := a.Session(), a.Session(), a.Session()
	visit(t, patient, "1 of 1")
	visit(t, told, "1 of 2")
	visit(t, over, "1 of 3")
	c, _ := s.lively(t, "c") // so that there is the tool
	a.shared(t, "lively.visit", 1, 2)
	p.lose(func(bool, string) bool { return true })
	until(t, "the host to be gone", func() bool { return a.state("b") == "" })
	_, err := told.Execute(t.Context(), tool.Call{Name: "lively.visit"})
	if err == nil || !strings.Contains(err.Error(), "is lost with host b") {
		t.Errorf("%v", err)
	}
	if err := over.Close(t.Context()); err != nil {
		t.Error(err)
	}
	_ = c.Fleet.Close(t.Context())
	p.lose(nil)
	a.shared(t, "lively.visit", 1, 1)
	visit(t, patient, "2 of 2")
	until(t, "the end of the session", func() bool { return ended(root) == 1 })
	visit(t, told, "1 of 3")
}
