package fleet_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/toolhost/toolhost/host/fleet"
	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// A line without calls is closed and made again by the next call. The state of a session stays, one with a call in
// progress does not rest, and a host that was lost while its line rested has lost the state of sessions.
func TestLineRests(t *testing.T) { //nolint:paralleltest // bubbles are alone
	bubble(t, func(t *testing.T, s *site) {
		b, at := s.counting(t, "b")
		require.NoError(t, b.Register(handler("slow", func(ctx context.Context, _ tool.Call) (tool.Result, error) {
			time.Sleep(3 * time.Minute)
			return tool.Text("done"), ctx.Err()
		}, func(d *tool.Definition) { d.Timeout = tool.Duration(5 * time.Minute) })))
		var opened atomic.Int32
		nc := require.Must(nats.Connect(s.URL(), nats.Nkey(s.key.Public(), s.key.Sign), nats.InProcessServer(s.pipes)))(t)
		defer nc.Close()
		require.Must(nc.Subscribe("toolhost.v1.h.*.open", func(*nats.Msg) { opened.Add(1) }))(t)
		require.NoError(t, nc.Flush())
		a := join(t, s.config("a", mount("*")))
		a.shared(t, "slow", 1, 1)
		links := func(want int32, when string) {
			t.Helper()
			require.NoError(t, nc.Flush())
			if got := opened.Load(); got != want {
				t.Errorf("%s, %d links were made, want %d", when, got, want)
			}
		}
		session := a.Session()
		follow(t, session)
		visit(t, session, "1 of 1")
		links(1, "at first")
		time.Sleep(4 * time.Minute)
		links(1, "while nothing is called")
		visit(t, session, "2 of 1")
		links(2, "after a rest")
		if res, err := session.Execute(t.Context(), tool.Call{Name: "slow"}); err != nil || res.Text() != "done" {
			t.Errorf("%q, %v", res.Text(), err)
		}
		visit(t, session, "3 of 1")
		links(2, "after a long call")
		time.Sleep(4 * time.Minute)
		_ = session.Close(t.Context())
		_, err := a.Execute(t.Context(), tool.Call{Name: "lively.follow"}) // makes a link, which tells it
		require.NoError(t, err)
		require.Eventually(t, "the end of the session", func() bool { return at.ended.Load() > 0 })
	})
}

// Hosts that name none of each other's keys are shown as strangers on both sides, whoever came first, and then hear next to
// nothing of each other; when one has left, it is not shown.
func TestStrangersOnOneAccount(t *testing.T) { //nolint:paralleltest // bubbles are alone
	bubble(t, func(t *testing.T, s *site) {
		other := newKey(t)
		options := []nats.Option{nats.InProcessServer(s.pipes), nats.Nkey(s.key.Public(), s.key.Sign)} // one account, and two fleets
		var heard atomic.Int64
		nc := require.Must(nats.Connect(s.URL(), options...))(t)
		defer nc.Close()
		require.Must(nc.Subscribe("toolhost.v1.who", func(*nats.Msg) { heard.Add(1) }))(t)
		b := join(t, s.config("b", share("*")), says("who", "b"))
		conn := require.Must(nats.Connect(s.URL(), options...))(t)
		defer conn.Close()
		x := join(t, fleet.Config{Conn: conn, Key: other, Name: "x", Share: []string{"*"}, Mount: []string{"*"}})
		strangers := func(n *node) (names string) {
			for _, h := range n.Hosts()[1:] {
				names += h.Name + " " + string(h.State) + " "
			}
			return strings.TrimSpace(names)
		}
		require.Eventually(t, "both are shown", func() bool { return strangers(b) == "x refused" && strangers(x) == "b refused" })
		before := heard.Load()
		time.Sleep(time.Hour)
		if n := heard.Load() - before; n < 20 || n > 30 {
			t.Errorf("they told each other of themselves %d times in an hour", n)
		}
		if strangers(b) != "x refused" || strangers(x) != "b refused" {
			t.Errorf("after an hour, b shows %q, and x %q", strangers(b), strangers(x))
		}
		require.NoError(t, x.Fleet.Close(t.Context()))
		require.Eventually(t, "x is not shown any more", func() bool { return strangers(b) == "" })
	})
}

// A peer that floods its own subject, and says that it drains and does not in turn, keeps no other from being called.
func TestFloodOfNamedHost(t *testing.T) {
	t.Parallel()
	own, hostile := newKey(t), newKey(t)
	s := siteOf(t, own, hostile)
	join(t, s.config("b", share("*")), says("who", "b"))
	c := s.config("a", mount("*"))
	c.Peers = map[string]fleet.Peer{"hostile": {Key: hostile.Public()}}
	a := join(t, c)
	a.shared(t, "who", 1, 1)
	says := map[string]any{}
	r := s.newRaw(t, hostile, says, func(context.Context, tool.Call) (tool.Result, error) { return tool.Result{}, nil })
	for i := range 8000 {
		says["draining"], says["revision"] = i%2 == 0, i
		require.NoError(t, r.nc.Publish("toolhost.v1.hello."+hostile.Public(), r.announcement()))
		if i%400 == 0 {
			require.NoError(t, r.nc.Flush())
			assert.Equal(t, a.text(t, "who"), "b")
		}
	}
	if got := a.state("b"); got != fleet.HostReady && got != fleet.HostLate {
		t.Errorf("b is %s", got)
	}
}
