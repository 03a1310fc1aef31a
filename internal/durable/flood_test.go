package durable_test

import (
	"crypto/rand"
	"fmt"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/toolhost/toolhost/internal/durable"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// A stranger floods all subjects of the queue, and repeats what it has heard. Calls that are submitted in the
// meantime are refused at once, as the queue is full, or run once.
func TestFlood(t *testing.T) {
	t.Parallel()
	s, l := newSite(t, 3), new(ledger)
	add := noted("add", l, false, nil)
	caller := s.join(0, nil, remote(add), trusting(s.peers(1)), func(c *durable.Config) { c.Queue = 1000 })
	s.join(1, []tool.Tool{add}, trusting(s.peers(0)))
	x := s.stranger(t, 2)
	first := caller.submit(t, durable.Request{Tool: "add", Arguments: args("first")})
	caller.wait(t, first)
	m := x.message(first)
	flooded := make(chan error, 1)
	go func() { flooded <- x.flood(m, 3000) }()
	var ids []string
	full, over := 0, false
	for i := 0; !over || len(ids) == 0; i++ {
		id, err := caller.Submit(t.Context(), durable.Request{Tool: "add", Arguments: args(fmt.Sprint(i))})
		switch {
		case err == nil:
			ids = append(ids, id)
			caller.wait(t, id)
		case tool.CodeOf(err) != tool.CodeResourceExhausted:
			t.Fatalf("%d: %v", i, err)
		default:
			full++
		}
		select {
		case err := <-flooded:
			if over = true; err != nil {
				t.Fatal(err)
			}
		default:
		}
	}
	for _, id := range ids {
		if c := caller.wait(t, id); c.State != durable.StateDone {
			t.Errorf("%+v", c)
		}
	}
	t.Logf("%d calls ran, %d were refused as the queue was full", len(ids), full)
	l.mu.Lock()
	defer l.mu.Unlock()
	for text, n := range l.runs {
		if n != 1 {
			t.Errorf("%s ran %d times", text, n)
		}
	}
	if len(l.runs) != len(ids)+1 {
		t.Errorf("%d calls ran, of %d", len(l.runs), len(ids)+1)
	}
}

// flood sends noise, and a message again and again, to all subjects of the queue.
func (x *stranger) flood(m *nats.Msg, rounds int) error {
	noise := make([]byte, 4000)
	for n := range rounds {
		_, _ = rand.Read(noise)
		for _, subject := range []string{m.Subject, m.Subject[:len(m.Subject)-1] + "A", "toolhost.v1.q.x.y", "toolhost.v1.n.x"} {
			if err := x.nc.Publish(subject, noise[:n%len(noise)]); err != nil {
				return err
			}
		}
		if err := x.nc.Publish(m.Subject, m.Data); err != nil {
			return err
		}
		if n%100 == 0 {
			if err := x.nc.Flush(); err != nil {
				return err
			}
		}
	}
	return x.nc.Flush()
}
