package main

import (
	"syscall"
	"testing"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/control"
)

// Two daemons that share a tool are restarted, one after the other, while a third one is called: no call
// fails.
func TestFleetRollingRestart(t *testing.T) {
	t.Parallel()
	a, b, c := newWorld(t, "fs"), newWorld(t, "player"), newWorld(t, "player")
	b.sharesKey(a)
	c.sharesKey(a)
	a.configure("nats: {mount: [play.*]}")
	b.configure("nats: {share: [play.*]}")
	c.configure("nats: {share: [play.*]}")
	hub := a.serve("--nats", "embedded:0", "--name", "a")
	hosts := []struct {
		*world

		name string
		runs *serving
	}{{b, "b", nil}, {c, "c", nil}}
	start := func(i int) {
		h := &hosts[i]
		h.runs = h.serve("--nats", hub.server(), "--name", h.name)
		a.until("host "+h.name, func() bool { return a.hosts()[h.name].Tools > 0 })
	}
	start(0)
	start(1)
	a.until("the tool", func() bool { return a.knows("play.echo") })
	stop := a.load(control.Call{Name: "play.echo", Arguments: []byte("{}")})
	for i := range hosts {
		hosts[i].runs.ends(syscall.SIGTERM, 0)
		start(i)
	}
	if n := stop(); n == 0 {
		t.Error("there was no load")
	} else {
		t.Logf("%d calls", n)
	}
}
