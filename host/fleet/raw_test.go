package fleet_test

import (
	"context"
	"encoding/json"
	"maps"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/toolhost/toolhost/host/fleet"
	"github.com/toolhost/toolhost/host/fleet/internal/link"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/internal/wire"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// raw is a host with a known key that speaks the fleet's protocol as it likes.
type raw struct {
	t    testing.TB
	nc   *nats.Conn
	key  fleet.Key
	self *link.Instance
	says map[string]any // in place of what an honest host says of itself
	seq  atomic.Uint64
	run  func(context.Context, tool.Call) (tool.Result, error) // its calls, the fleet's own too
}

// newRaw starts such a host, which is heard of until the test ends.
func (s *site) newRaw(t testing.TB, key fleet.Key, says map[string]any, run func(context.Context, tool.Call) (tool.Result, error)) *raw {
	t.Helper()
	nc := require.Must(nats.Connect(s.URL(), nats.Nkey(key.Public(), key.Sign)))(t)
	self := require.Must(link.NewInstance())(t)
	r := &raw{t: t, nc: nc, key: key, self: self, says: says, run: run}
	ctx, cancel := context.WithCancel(context.Background())
	var all sync.WaitGroup
	t.Cleanup(func() {
		cancel()
		nc.Close()
		all.Wait()
	})
	own := "toolhost.v1.h." + self.ID()
	for subject, handle := range map[string]nats.MsgHandler{
		own + ".ping":     func(m *nats.Msg) { _ = m.Respond(r.announcement()) },
		"toolhost.v1.who": func(m *nats.Msg) { _ = m.Respond(r.announcement()) },
		own + ".open": func(m *nats.Msg) {
			if l := r.accept(m); l != nil {
				all.Go(func() { _ = (&wire.Server{Provider: r}).Serve(ctx, l) })
			}
		},
	} {
		require.Must(nc.Subscribe(subject, handle))(t)
	}
	r.hello()
	return r
}

// announcement returns a signed one.
func (r *raw) announcement() []byte {
	about := map[string]any{
		"protocol": map[string]int{"min": 1, "max": 1}, "name": "raw", "key": r.key.Public(), "instance": r.self.Public(),
		"seq": r.seq.Add(1), "version": "1.0.0", "revision": 1, "load": map[string]int{}, "time": time.Now(),
	}
	maps.Copy(about, r.says)
	text, err := json.Marshal(about)
	if err != nil {
		panic(err)
	}
	signature, err := r.key.Sign(append([]byte("toolhost fleet announcement 1\n"), text...))
	if err != nil {
		panic(err)
	}
	return append(signature, text...)
}

// hello has it announce itself once.
func (r *raw) hello() {
	r.t.Helper()
	if err := r.nc.Publish("toolhost.v1.hello."+r.key.Public(), r.announcement()); err != nil {
		r.t.Error(err)
	}
	if err := r.nc.Flush(); err != nil {
		r.t.Error(err)
	}
}

func (r *raw) accept(m *nats.Msg) *link.Link {
	o, err := link.ParseOpening(m.Data)
	if err != nil {
		return nil
	}
	l, err := link.Accept(r.nc, r.self, public(o.About), o, m.Respond)
	if err != nil {
		return nil
	}
	return l
}

// public returns the public half of the instance that an announcement is of.
func public(announcement []byte) []byte {
	var about struct{ Instance []byte }
	_ = json.Unmarshal(announcement[64:], &about)
	return about.Instance
}

// List implements [tool.Provider].
func (*raw) List(context.Context) ([]tool.Definition, error) { return nil, nil }

// Execute implements [tool.Provider].
func (r *raw) Execute(ctx context.Context, call tool.Call) (tool.Result, error) {
	return r.run(ctx, call)
}

// Close implements [tool.Provider].
func (*raw) Close(context.Context) error { return nil }
