package durable_test

import (
	"bytes"
	"context"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/toolhost/toolhost/internal/durable"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// A call was queued again as its worker was silent, and then that worker says how it ended: this counts no more, and leaves
// the call to the next worker.
func TestEndOfLateWorker(t *testing.T) {
	t.Parallel()
	s, l := newSite(t, 2), new(ledger)
	lapse := func(c *durable.Config) { c.Lapse = time.Second }
	var caller *party
	add := noted("add", l, true, func(ctx context.Context, text string) (tool.Result, error) {
		if l.count(text) > 1 {
			return tool.Text("again"), nil
		}
		return tool.Text("late"), caller.Requeue(ctx, require.Must(caller.List(ctx))(t)[0].ID)
	})
	caller = s.join(0, nil, remote(add), trusting(s.peers(1)), lapse)
	s.join(1, []tool.Tool{add}, trusting(s.peers(0)), lapse)
	c := caller.wait(t, caller.submit(t, durable.Request{Tool: "add", Arguments: args("a")}))
	if c.State != durable.StateDone || c.Result.Text() != "again" || c.Attempts != 2 || l.count("a") != 2 {
		t.Errorf("it ran %d times: %+v, %v", l.count("a"), c, c.Error)
	}
}

// deaf is a connection that hears nothing from when it has said one thing until it says another.
type deaf struct {
	net.Conn

	from, until []byte
	mu          sync.Mutex
	said        int // the things, of two
	hears       chan struct{}
}

func (d *deaf) Dial(network, address string) (net.Conn, error) {
	c, err := net.Dial(network, address) //nolint:noctx // on loopback
	d.Conn = c
	return d, err
}

func (d *deaf) Write(b []byte) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case d.said == 0 && bytes.Contains(b, d.from):
		d.said, d.hears = 1, make(chan struct{})
	case d.said == 1 && bytes.Contains(b, d.until):
		d.said = 2
		close(d.hears)
	}
	return d.Conn.Write(b)
}

func (d *deaf) Read(b []byte) (int, error) {
	n, err := d.Conn.Read(b)
	d.mu.Lock()
	hears := d.hears
	d.mu.Unlock()
	if hears != nil {
		<-hears
	}
	return n, err
}

// The server has stored a piece of a result and its answer was late: the room that the piece has taken is not counted again.
func TestPieceIsStoredAgain(t *testing.T) {
	t.Parallel()
	s, l := newSite(t, 2), new(ledger)
	add := large(l, 7<<19)
	kept := func(c *durable.Config) { c.Bytes, c.Lapse = 4<<20, 6*time.Second }
	caller := s.join(0, nil, remote(add), trusting(s.peers(1)), kept)
	d := &deaf{from: []byte("PUB $KV." + durable.ResultsName), until: []byte(durable.ResultsName)}
	nc := require.Must(nats.Connect(s.URL(), nats.Nkey(s.public[1], s.keys[1].Sign), nats.SetCustomDialer(d)))(t)
	t.Cleanup(nc.Close)
	s.join(1, []tool.Tool{add}, trusting(s.peers(0)), kept, func(c *durable.Config) { c.Conn = nc })
	c := caller.wait(t, caller.submit(t, durable.Request{Tool: "large", Arguments: args("a")}))
	if c.State != durable.StateDone || len(c.Result.Text()) != 7<<19 {
		t.Errorf("it ran %d times, and is %s: %v", l.count("a"), c.State, c.Error)
	}
	if d.said != 2 {
		t.Errorf("the connection has said %d things", d.said)
	}
}
