package link_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/toolhost/toolhost/host/fleet/internal/link"
	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// The messages of links.
const allLinks = "toolhost.v1.l.>"

// exchange sends bytes both ways, and reports what does not come as it was sent.
func exchange(t *testing.T, a, b *link.Link, n int) {
	t.Helper()
	for _, ends := range [][2]*link.Link{{a, b}, {b, a}} {
		want := bytes.Repeat([]byte("0123456789abcdef"), n/16)
		sent := make(chan error, 1)
		go func() { sent <- ends[0].Send(want, nil) }()
		got := make([]byte, len(want))
		if _, err := io.ReadFull(ends[1], got); err != nil || !bytes.Equal(got, want) {
			t.Errorf("other bytes came, %v", err)
		}
		assert.NoError(t, <-sent)
	}
}

func flush(t *testing.T, nc *nats.Conn) {
	t.Helper()
	require.NoError(t, nc.Flush())
}

// A stranger repeats whatever it hears, and changes nothing.
func TestReplays(t *testing.T) {
	t.Parallel()
	bus := newBus(t, 0)
	stranger := bus.connect(t, nats.NoEcho())
	require.Must(stranger.Subscribe(allLinks, func(m *nats.Msg) {
		_ = stranger.Publish(m.Subject, m.Data)
		_ = stranger.PublishMsg(&nats.Msg{Subject: m.Subject, Data: m.Data, Reply: "r", Header: nats.Header{"Status": {"503"}}})
	}))(t)
	flush(t, stranger)
	caller, server, ch, sh := bus.pair(t)
	exchange(t, caller, server, 8<<20)
	for _, nc := range []*nats.Conn{ch.nc, stranger, ch.nc, sh.nc} { // what was said has been repeated, and has come
		flush(t, nc)
	}
	exchange(t, caller, server, 1<<10)
	if caller.Dropped() == 0 || server.Dropped() == 0 {
		t.Errorf("%d and %d messages were dropped", caller.Dropped(), server.Dropped())
	}
}

// A stranger cuts, changes, mixes up and invents packets.
func TestForgeries(t *testing.T) {
	t.Parallel()
	bus := newBus(t, 0)
	stranger := bus.connect(t)
	heard := make(chan *nats.Msg, 16)
	require.Must(stranger.ChanSubscribe(allLinks, heard))(t)
	flush(t, stranger)
	caller, server, _, _ := bus.pair(t)
	hello := <-heard // of the caller
	exchange(t, caller, server, 16)
	request, answer := <-heard, <-heard
	forged := 0
	forge := func(m *nats.Msg, data []byte) {
		require.NoError(t, stranger.Publish(m.Subject, data))
		forged++
	}
	for _, m := range []*nats.Msg{hello, request} {
		for _, number := range []uint64{0, 1, 2, 3, 1 << 40, 1<<64 - 1} {
			b := bytes.Clone(m.Data)
			binary.BigEndian.PutUint64(b, number)
			forge(m, b)
		}
	}
	next := bytes.Clone(request.Data)
	binary.BigEndian.PutUint64(next, 2)
	for i := range next {
		forge(request, next[:i])
		b := bytes.Clone(next)
		b[i] ^= 1
		forge(request, b)
	}
	forge(request, nil)
	forge(request, append(bytes.Clone(next), 0))
	forge(request, make([]byte, link.MaxPacket+1))
	forge(request, make([]byte, 1<<20))
	forge(request, answer.Data)
	binary.BigEndian.PutUint64(answer.Data, 2)
	forge(request, answer.Data)
	flush(t, stranger)
	exchange(t, caller, server, 1<<10) // after all of it
	if n := server.Dropped(); n != uint64(forged) {
		t.Errorf("%d of %d forgeries were dropped", n, forged)
	}
}

// A stranger sends more than there is room for. An idle link goes on, and asks whether it has missed
// something.
func TestFlood(t *testing.T) {
	t.Parallel()
	bus := newBus(t, 0)
	stranger := bus.connect(t)
	overflow := make(chan struct{}, 1)
	caller, server, _, sh := bus.pair(t, nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
		if errors.Is(err, nats.ErrSlowConsumer) {
			select {
			case overflow <- struct{}{}:
			default:
			}
		}
	}))
	flood := func(size, n int) {
		b := make([]byte, size)
		if size > 8 {
			b[0] = 1 // of a packet in the future
		}
		for range n {
			require.NoError(t, stranger.Publish("toolhost.v1.l."+caller.ID()+".s", b))
		}
		flush(t, stranger)
		flush(t, sh.nc)
	}
	for _, size := range []int{10, link.Overhead, 1 << 10, link.MaxPacket, link.MaxPacket + 1} {
		flood(size, 200)
	}
	exchange(t, caller, server, 1<<10)
	require.NoError(t, server.Cramp(true))
	before := server.Heard()
	for len(overflow) == 0 {
		flood(10, 1000)
	}
	require.NoError(t, server.Cramp(false))
	for !server.Heard().After(before) { // the caller has been asked
		select {
		case <-server.Done():
			t.Fatal(server.Err())
		case <-time.After(time.Millisecond):
		}
	}
	exchange(t, caller, server, 1<<10)
}

// A stranger who repeats what another host says of itself cannot open a link in its name.
func TestStolenAbout(t *testing.T) {
	t.Parallel()
	bus := newBus(t, 0)
	victim, sh, thief := bus.host(t), bus.host(t), bus.host(t)
	openings := make(chan *nats.Msg, 8)
	require.Must(thief.nc.ChanSubscribe(sh.subject(), openings))(t)
	flush(t, thief.nc)
	accepted := sh.accept(t, victim.Public())
	mine, err := link.Dial(t.Context(), victim.nc, victim.Instance, sh.Public(), sh.subject(), []byte("about"))
	require.NoError(t, err)
	theirs := <-accepted
	opening := <-openings

	// It says the same with keys of its own.
	_, err = link.Dial(t.Context(), thief.nc, thief.Instance, sh.Public(), sh.subject(), []byte("about"))
	if tool.CodeOf(err) != tool.CodeUnavailable {
		t.Error(err)
	}
	// It changes the opening.
	for i := range opening.Data {
		changed := bytes.Clone(opening.Data)
		changed[i] ^= 1 << 7
		if o, err := link.ParseOpening(changed); err == nil {
			_, err = link.Accept(sh.nc, sh.Instance, victim.Public(), o, func([]byte) error { return nil })
			assert.Equalf(t, tool.CodeOf(err), tool.CodeInvalidArguments, "byte %d: %v", i, err)
		}
	}
	// It repeats the opening itself, and with it the link's ID.
	require.Must(thief.nc.Request(sh.subject(), opening.Data, 1e10))(t)
	repeated := <-accepted
	for range 10 {
		require.NoError(t, thief.nc.Publish("toolhost.v1.l."+repeated.ID()+".s", make([]byte, 100)))
	}
	flush(t, thief.nc)
	exchange(t, mine, theirs, 1<<10) // the packets reach the repeated link too
	flush(t, sh.nc)
	if repeated.Dropped() == 0 {
		<-repeated.Done() // fails by the time limit of tests
	}
	select {
	case <-repeated.Proven():
		t.Error("the repeated link is proven")
	default:
	}
	_ = repeated.Close()
	exchange(t, mine, theirs, 1<<10) // to which the repeated link's end means nothing
	_, _ = mine.Close(), theirs.Close()
}

// A stranger changes the answer of the host.
func TestForgedAnswers(t *testing.T) {
	t.Parallel()
	bus := newBus(t, 0)
	caller, sh := bus.host(t), bus.host(t)
	at, size := 0, 1
	require.Must(sh.nc.Subscribe(sh.subject(), func(m *nats.Msg) {
		o, err := link.ParseOpening(m.Data)
		if err != nil {
			t.Error(err)
			return
		}
		l, err := link.Accept(sh.nc, sh.Instance, caller.Public(), o, func(answer []byte) error {
			size = len(answer)
			answer[at] ^= 1 << 7
			return m.Respond(answer)
		})
		if err != nil {
			t.Error(err)
			return
		}
		_ = l.Close()
	}))(t)
	flush(t, sh.nc)
	for ; at < size; at++ {
		if _, err := link.Dial(t.Context(), caller.nc, caller.Instance, sh.Public(), sh.subject(), nil); tool.CodeOf(err) != tool.CodeUnavailable {
			t.Errorf("byte %d: %v", at, err)
		}
	}
}

// What was lost ends the link at both sides, after what came before.
func TestGap(t *testing.T) {
	t.Parallel()
	caller, server, _, _ := newBus(t, 0).pair(t)
	require.NoError(t, caller.Send([]byte("before"), nil))
	caller.Skip()
	require.NoError(t, caller.Send([]byte("after"), nil))
	got, err := io.ReadAll(server)
	if string(got) != "before" || !link.Lost(err) {
		t.Errorf("%q, %v", got, err)
	}
	<-caller.Done()
}

// The last message was lost, after which nothing comes: a probe shows it.
func TestProbe(t *testing.T) {
	t.Parallel()
	for name, side := range map[string]int{"to the server": 0, "to the caller": 1} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			caller, server, ch, sh := newBus(t, 0).pair(t)
			before := caller.Heard()
			require.NoError(t, caller.Probe())
			flush(t, ch.nc)
			exchange(t, caller, server, 16) // the answer came before
			if !caller.Heard().After(before) {
				t.Error("a probe was not answered")
			}
			flush(t, sh.nc)
			[]*link.Link{caller, server}[side].Skip()
			require.NoError(t, caller.Probe())
			<-caller.Done()
			<-server.Done()
			if err := caller.Probe(); err == nil {
				t.Error("a link that has ended can be probed")
			}
		})
	}
}

// The other host itself breaks the rules.
func TestPeerMisbehaves(t *testing.T) {
	t.Parallel()
	for name, act := range map[string]func(*link.Link) error{
		"too much": func(l *link.Link) error {
			l.Overrun()
			return l.Send(make([]byte, link.Window+1), nil)
		},
		"credit for nothing": func(l *link.Link) error { l.Overcredit(); return nil },
		"flags":              func(l *link.Link) error { return l.Flag(1 << 7) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			caller, server, _, _ := newBus(t, 0).pair(t)
			if err := act(caller); err != nil && !errors.Is(err, io.EOF) {
				t.Fatal(err)
			}
			<-server.Done()
			if errors.Is(server.Err(), io.EOF) {
				t.Error(server.Err())
			}
			<-caller.Done()
		})
	}
}
