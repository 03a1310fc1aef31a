package fleet_test

import (
	"context"
	"errors"
	"maps"
	"strconv"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/host/fleet"
	"github.com/toolhost/toolhost/host/fleet/internal/link"
	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

func unused(context.Context, tool.Call) (tool.Result, error) {
	return tool.Result{}, errors.New("it is not to be called")
}

// Hosts that speak another version of the protocol are shown with the reason, are told it when they call,
// and nothing else changes.
func TestOtherProtocol(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	b := join(t, s.config("b", share("*")), says("who", "b"))
	a := join(t, s.config("a", mount("*")))
	a.text(t, "who")
	for _, c := range []struct {
		version int
		advice  string
	}{{2, "upgrade this host"}, {0, "upgrade that host"}} {
		name := "version-" + strconv.Itoa(c.version)
		r := s.newRaw(t, s.key, map[string]any{
			"protocol": map[string]int{"min": c.version, "max": c.version}, "name": name, "news": strings.Repeat("x", 1000),
		}, unused)
		require.Eventually(t, name, func() bool { return a.state(name) != "" && b.state(name) != "" })
		for _, h := range a.Hosts() {
			if h.Name == name && (h.State != fleet.HostRefused || !strings.Contains(h.Reason, "speaks "+strings.Replace(name, "-", " ", 1)) ||
				!strings.Contains(h.Reason, c.advice)) {
				t.Errorf("%+v", h)
			}
		}
		id := b.Hosts()[0].Instance
		_, err := link.Dial(t.Context(), r.nc, r.self, r.instance(t, id), "toolhost.v1.h."+id+".open", r.announcement())
		if e := tool.AsError(err); err == nil || e.Code != tool.CodeUnsupported || !strings.Contains(e.Message, c.advice) {
			t.Errorf("%v", err)
		}
	}
	for range 20 {
		assert.Equal(t, a.text(t, "who"), "b")
	}
}

// Announcements are believed up to their bounds, and not beyond.
func TestAnnouncementBounds(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	a := join(t, s.config("a", mount("*")))
	labels := func(n, size int) map[string]string {
		out := map[string]string{}
		for i := range n {
			out[strconv.Itoa(1000+i)+strings.Repeat("k", size-4)] = strings.Repeat("v", size)
		}
		return out
	}
	fill := func(size int) map[string]any { // so that the announcement has size bytes
		says := map[string]any{"seq": 5, "time": "2026-01-01T00:00:00Z"}
		r := &raw{key: s.key, self: instance(t), says: map[string]any{"name": "filled-0000", "news": ""}}
		maps.Copy(r.says, says)
		says["news"] = strings.Repeat("x", size-len(r.announcement()))
		return says
	}
	for i, c := range []struct {
		says map[string]any
		good bool
	}{
		{map[string]any{"labels": labels(32, 64)}, true},
		{map[string]any{"labels": labels(33, 64)}, false},
		{map[string]any{"labels": labels(1, 65)}, false},
		{map[string]any{"labels": map[string]string{"a": "\x1b[2J"}}, false},
		{map[string]any{"load": map[string]int{"slots": -1}}, false},
		{map[string]any{"load": map[string]int{"running": 1 << 62, "slots": 1 << 62}}, true},
		{map[string]any{"seq": uint64(1<<64 - 1)}, true},
		{map[string]any{"instance": make([]byte, 31)}, false},
		{map[string]any{"time": "yesterday"}, false},
		{map[string]any{"time": "9999-01-01T00:00:00Z"}, true},
		{fill(32 << 10), true},
		{fill(32<<10 + 1), false},
	} {
		name := "filled-" + strconv.Itoa(1000+i)
		c.says["name"] = name
		s.newRaw(t, s.key, c.says, unused)
		end := s.newRaw(t, s.key, map[string]any{"name": "after-" + name}, unused) // which is heard later
		require.Eventually(t, "the host after it", func() bool { return a.state("after-"+name) != "" })
		assert.Equalf(t, a.state(name) != "", c.good, "%d: known", i)
		end.nc.Close()
	}
}

func instance(t testing.TB) *link.Instance {
	t.Helper()
	i := require.Must(link.NewInstance())(t)
	return i
}

// instance returns the public half of the instance with an ID, as that announces it.
func (r *raw) instance(t testing.TB, id string) []byte {
	t.Helper()
	m := require.Must(r.nc.RequestWithContext(t.Context(), "toolhost.v1.h."+id+".ping", nil))(t)
	return public(m.Data)
}

// Two hosts of one name, and of one key, are replicas like any others. Whoever means one of them is told to
// name its instance.
func TestTwoHostsOfOneName(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for range 2 {
		join(t, s.config("b", share("*")), says("who", "b"))
	}
	a := join(t, s.config("a", mount("*")))
	a.shared(t, "who", 1, 2)
	assert.Equal(t, a.text(t, "who"), "b")
	hosts := a.Hosts()
	for _, h := range hosts[1:] {
		if h.Name != "b" || h.State != fleet.HostReady || h.Reason != "another host has this name too" {
			t.Errorf("%+v", h)
		}
	}
	if err := a.Drain(t.Context(), "b", true); tool.CodeOf(err) != tool.CodeAlreadyExists {
		t.Errorf("%v", err)
	}
	assert.NoError(t, a.Drain(t.Context(), hosts[1].Instance, true))
	require.Eventually(t, "one of them to drain", func() bool { return a.draining() == 1 })
	for range 20 {
		if res, err := a.Fleet.Execute(fleet.On(t.Context(), hosts[2].Instance), tool.Call{Name: "who"}); err != nil || res.Text() != "b" {
			t.Errorf("%q %v", res.Text(), err)
		}
	}
	if _, err := a.Fleet.Execute(fleet.On(t.Context(), hosts[1].Instance), tool.Call{Name: "who"}); tool.CodeOf(err) != tool.CodeUnavailable {
		t.Errorf("%v", err)
	}
}

// draining is how many other hosts drain.
func (n *node) draining() (count int) {
	for _, h := range n.Hosts()[1:] {
		if h.State == fleet.HostDraining {
			count++
		}
	}
	return count
}
