package durable_test

import (
	"crypto/rand"
	"fmt"
	"testing"

	"github.com/toolhost/toolhost/host/fleet/durable"
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
	stop, stopped := make(chan struct{}), make(chan int)
	go func() {
		noise, n := make([]byte, 4000), 0
		for ; ; n++ {
			select {
			case <-stop:
				stopped <- n
				return
			default:
			}
			_, _ = rand.Read(noise)
			for _, subject := range []string{m.Subject, m.Subject[:len(m.Subject)-1] + "A", "toolhost.v1.q.x.y", "toolhost.v1.n.x"} {
				if err := x.nc.Publish(subject, noise[:n%len(noise)]); err != nil {
					t.Error(err)
				}
			}
			if err := x.nc.Publish(m.Subject, m.Data); err != nil {
				t.Error(err)
			}
			if n%100 == 0 {
				if err := x.nc.Flush(); err != nil {
					t.Error(err)
				}
			}
		}
	}()
	full := 0
	for i := range 20 {
		var id string
		eventually(t, "a call is accepted", func() (ok bool) {
			var err error
			id, err = caller.Submit(t.Context(), durable.Request{Tool: "add", Arguments: args(fmt.Sprint(i))})
			if err != nil {
				full++
				if tool.CodeOf(err) != tool.CodeResourceExhausted {
					t.Errorf("%v", err)
				}
			}
			return err == nil
		})
		if c := caller.wait(t, id); c.State != durable.StateDone {
			t.Errorf("%+v", c)
		}
	}
	close(stop)
	t.Logf("%d rounds of the flood, %d times the queue was full", <-stopped, full)
	l.mu.Lock()
	defer l.mu.Unlock()
	for text, n := range l.runs {
		if n != 1 {
			t.Errorf("%s ran %d times", text, n)
		}
	}
	if len(l.runs) != 21 {
		t.Errorf("%d calls ran", len(l.runs))
	}
}
