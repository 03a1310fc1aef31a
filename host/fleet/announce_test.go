package fleet

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/internal/test/natstest"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// served is a server, and the key of all hosts at it.
type served struct {
	url     string
	key     Key
	options []nats.Option
}

func serve(t *testing.T) served {
	t.Helper()
	key := require.Must(NewKey())(t)
	return served{url: natstest.Start(t, &server.NkeyUser{Nkey: key.Public()}), key: key}
}

// bubble runs a test with such a server in a bubble of testing/synctest.
func bubble(t *testing.T, test func(*testing.T, served)) {
	t.Helper()
	key := require.Must(NewKey())(t)
	natstest.Bubble(t, func(t *testing.T, s *server.Server) {
		test(t, served{"nats://in.memory", key, []nats.Option{nats.InProcessServer(s)}})
	}, &server.NkeyUser{Nkey: key.Public()})
}

// joined returns a host in the fleet of a server, which knows all that have the key.
func joined(t *testing.T, at served, name string, tools ...tool.Tool) (*host.Host, *Fleet) {
	t.Helper()
	h := require.Must(host.New())(t)
	t.Cleanup(func() { _ = h.Close(context.Background()) })
	for _, one := range tools {
		require.NoError(t, h.Register(one))
	}
	f := require.Must(Join(t.Context(), h, Config{
		URL: at.url, Key: at.key, Options: at.options, Name: name, Share: []string{"*"}, Mount: []string{"*"},
	}))(t)
	t.Cleanup(func() { _ = f.Close(context.Background()) })
	return h, f
}

// A host of a large fleet announces itself rarely. That it was killed shows at once to those with calls there.
func TestKilledHostOfLargeFleet(t *testing.T) { //nolint:paralleltest // bubbles are alone
	bubble(t, func(t *testing.T, at served) {
		began := make(chan struct{})
		_, b := joined(t, at, "b", tool.Tool{
			Definition: tool.Definition{Name: "wait", Description: "It waits.", Safety: tool.Safe},
			Handler: func(ctx context.Context, _ tool.Call) (tool.Result, error) {
				close(began)
				<-ctx.Done()
				return tool.Result{}, ctx.Err()
			},
		})
		h, a := joined(t, at, "a")
		b.others.Store(maxMembers)
		b.announces.send()
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		rare := func() bool {
			a.directory.mu.Lock()
			defer a.directory.mu.Unlock()
			for _, m := range a.members {
				return m.said.every() == longestInterval && m.line != nil
			}
			return false
		}
		if !a.bell.wait(ctx, rare) {
			t.Fatal("b does not say how often it announces itself")
		}
		ended := make(chan error, 1)
		go func() {
			_, err := h.Execute(ctx, tool.Call{Name: "wait"})
			ended <- err
		}()
		<-began
		killed := time.Now()
		b.nc.Close()
		err := <-ended
		if took := time.Since(killed); tool.CodeOf(err) != tool.CodeUnavailable || took > silence(interval) {
			t.Errorf("the call ended after %v: %v", took, err)
		}
	})
}

// What a host has said that is gone has no effect when it is repeated.
func TestGoneHostsStayGone(t *testing.T) { //nolint:paralleltest // bubbles are alone
	bubble(t, func(t *testing.T, at served) {
		_, a := joined(t, at, "a")
		for _, goes := range []func(*Fleet){
			func(b *Fleet) { _ = b.Close(t.Context()) },
			func(b *Fleet) { b.nc.Close() },
		} {
			_, b := joined(t, at, "b")
			data := require.Must(b.announcement())(t)
			said := b.seq.Load()
			is := func(there bool) func() bool {
				return func() bool {
					a.directory.mu.Lock()
					defer a.directory.mu.Unlock()
					return (a.members[b.self.ID()] != nil) == there
				}
			}
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			defer cancel()
			b.announces.send()
			later := func() bool {
				a.directory.mu.Lock()
				defer a.directory.mu.Unlock()
				m := a.members[b.self.ID()]
				return m != nil && m.said.Seq > said
			}
			if !a.bell.wait(ctx, later) {
				t.Fatal("nothing is heard of it")
			}
			goes(b)
			if !a.bell.wait(ctx, is(false)) {
				t.Fatal("it has not left")
			}
			if a.hear(data) != nil || is(true)() {
				t.Error("it is there again")
			}
		}
		for i := range maxDeparted + 10 {
			a.directory.mu.Lock()
			m := &member{directory: &a.directory, id: fmt.Sprint(i), said: new(announcement), timer: time.NewTimer(0), end: func() {}, synced: make(chan struct{})}
			a.members[m.id] = m
			a.drop(m, "it is a test")
			a.directory.mu.Unlock()
			a.gone(m)
		}
		if len(a.departed) != maxDeparted {
			t.Errorf("%d hosts are remembered", len(a.departed))
		}
	})
}

func TestIntervalsHaveBounds(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		known int32
		said  int64 // ms
		want  time.Duration
	}{
		{0, 0, interval}, {200, -5, interval}, {300, 8000, 8 * time.Second}, {maxMembers, 1 << 62, longestInterval},
	} {
		f := new(presence)
		f.others.Store(c.known)
		if got, told := f.every(), (&announcement{Every: c.said}).every(); got != c.want || told != c.want {
			t.Errorf("%d hosts: %v; %d ms: %v; want %v", c.known, got, c.said, told, c.want)
		}
	}
}

// A definition that no registry takes is left out alone, also while a host joins.
func TestJoinLeavesOutBadTools(t *testing.T) {
	t.Parallel()
	at := serve(t)
	_, b := joined(t, at, "b")
	c := &catalogue{revision: 99, tools: map[string]shared{}, texts: map[string]json.RawMessage{}, names: []string{"bad", "good"}}
	for name, schema := range map[string]string{"bad": `{"type":"nonsense"}`, "good": `{"type":"object"}`} {
		c.add(&tool.Definition{Name: name, Description: "-", Safety: tool.Safe, InputSchema: tool.Schema(schema)}, shared{})
	}
	b.catalogue.Store(c)
	h, _ := joined(t, at, "a")
	changes := h.Changes()
	for h.Len() == 0 { // it answers late
		select {
		case <-changes:
		case <-time.After(require.Ceiling):
			t.Fatal("there are no tools")
		}
	}
	if _, there := h.Get("good"); !there || h.Len() != 1 {
		t.Errorf("%d tools", h.Len())
	}
}

// A host that says that it has started again and again keeps no other out.
func TestStartsOfOneKeyHaveBounds(t *testing.T) {
	t.Parallel()
	p := &presence{node: new(node)}
	f := &Fleet{
		node:      p.node,
		directory: directory{presence: p, members: map[string]*member{}},
		inbound:   inbound{presence: p, byInstance: map[string]*callingHost{}, accounts: map[string]*account{}},
	}
	f.settings.Store(configure(Config{Key: Key{public: "own"}}, 1))
	start := func(key string, i int) *callingHost {
		return f.of(&announcement{Key: key, Instance: binary.BigEndian.AppendUint32([]byte(key), uint32(i))}) //nolint:gosec // small
	}
	for i := range maxStarts {
		if f.full("hostile", false) || start("hostile", i) == nil {
			t.Fatalf("%d starts are too many", i)
		}
		f.members[fmt.Sprint(i)] = &member{key: "hostile"}
	}
	if !f.full("hostile", false) || start("hostile", maxStarts) != nil {
		t.Error("it may start more often")
	}
	for _, key := range []string{"other", "own"} {
		if f.full(key, key == "own") || start(key, 0) == nil {
			t.Errorf("it keeps out hosts with the key %s", key)
		}
	}
	v := start("hostile", 0)
	v.expire()
	if start("hostile", maxStarts) == nil {
		t.Error("a host that is gone counts")
	}
}

// Of a link that cannot be accepted nothing is left.
func TestUnacceptableLinkExpires(t *testing.T) {
	t.Parallel()
	at := serve(t)
	_, f := joined(t, at, "a")
	a := announcement{Protocol: spoken, Name: "b", Key: at.key.Public(), Instance: make([]byte, instanceSize), Seq: 1}
	about := require.Must(a.sign(at.key))(t)
	opening := binary.BigEndian.AppendUint32(append([]byte{1}, make([]byte, 16)...), 1<<16)
	opening = append(append(opening, about...), make([]byte, 32+16)...) // of a key that everybody has
	f.opened(opening, func([]byte) error { return nil })
	f.inbound.mu.Lock()
	defer f.inbound.mu.Unlock()
	v := f.byInstance[a.id()]
	if v == nil {
		t.Fatal("the opening was not read")
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if len(v.links) > 0 || v.expiry == nil {
		t.Errorf("%d links, and the host does not expire", len(v.links))
	}
}

// A host that joins is told of the others by them, and does not have them announce themselves to all.
func TestJoiningIsQuiet(t *testing.T) { //nolint:paralleltest // bubbles are alone
	bubble(t, func(t *testing.T, at served) {
		const others = 5
		said := make(chan *announcement, 1024)
		var all []*Fleet
		for i := range others {
			_, f := joined(t, at, fmt.Sprintf("h%d", i))
			all = append(all, f)
		}
		require.Must(all[0].nc.Subscribe(helloSubject+at.key.Public(), func(m *nats.Msg) {
			if a, err := parseAnnouncement(m.Data); err == nil {
				said <- a
			}
		}))(t)
		require.NoError(t, all[0].nc.Flush())
		// From their next announcements on, they are silent for ten seconds.
		rare := map[string]bool{}
		for _, f := range all {
			f.others.Store(maxMembers)
			f.announces.send()
		}
		for len(rare) < others {
			if a := <-said; a.every() == longestInterval {
				rare[a.Name] = true
			}
		}
		begin := time.Now()
		joined(t, at, "new")
		all[1].announces.send() // later than what the others would say
		heard := map[string]int{}
		for name := ""; name != "h1"; {
			name = (<-said).Name
			heard[name]++
		}
		if took := time.Since(begin); heard["new"] == 0 || len(heard) != 2 {
			t.Errorf("within %v, these announced themselves: %v", took, heard)
		}
	})
}
