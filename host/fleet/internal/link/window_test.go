package link_test

import (
	"errors"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/toolhost/toolhost/host/fleet/internal/link"
	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/require"
)

// fill sends until the window is full, and returns how many bytes that took.
func fill(t *testing.T, l *link.Link) int {
	t.Helper()
	const data = link.MaxPacket - link.Overhead
	sent := 0
	for ; (sent/data+1)*(data+link.PacketCost) <= link.Window; sent += data {
		require.NoError(t, l.Send(make([]byte, data), nil))
	}
	return sent
}

// A host that does not read has to keep no more than the window, however the other side sends it,
// and the other side waits.
func TestUnread(t *testing.T) {
	t.Parallel()
	for name, size := range map[string]int{"large": 1 << 20, "small": 1} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			caller, server, _, _ := newBus(t, 0).pair(t)
			sent := make(chan error, 1)
			go func() {
				for {
					if err := caller.Send(make([]byte, size), nil); err != nil {
						sent <- err
						return
					}
				}
			}()
			for counted := 0; counted < link.Window-link.MaxPacket-link.PacketCost; {
				var held int
				if counted, held = server.Unread(); counted > link.Window || counted != held {
					t.Fatalf("%d bytes are counted and %d held", counted, held)
				}
			}
			require.NoError(t, caller.Close())
			assert.ErrorIs(t, <-sent, net.ErrClosed)
			n, err := io.Copy(io.Discard, server)
			if err != nil || n > link.Window {
				t.Errorf("%d bytes were sent, %v", n, err)
			}
		})
	}
}

// Send waits for the other side to read, even if both sides send first.
func TestSendWaits(t *testing.T) {
	t.Parallel()
	caller, server, _, _ := newBus(t, 0).pair(t)
	sent := make(chan error, 2)
	ends := [][2]*link.Link{{caller, server}, {server, caller}}
	full := fill(t, caller)
	fill(t, server)
	for _, e := range ends {
		go func() { sent <- e[0].Send(make([]byte, link.MaxPacket), nil) }()
	}
	for _, e := range ends {
		if n, err := io.ReadFull(e[1], make([]byte, full+link.MaxPacket)); err != nil {
			t.Errorf("%d bytes, %v", n, err)
		}
	}
	for range ends {
		assert.NoError(t, <-sent)
	}
}

// A small request and its answer are two messages, and a link that is not used sends none.
func TestMessages(t *testing.T) {
	t.Parallel()
	bus := newBus(t, 0)
	caller, server, ch, sh := bus.pair(t)
	<-server.Proven()
	count := func() uint64 { return ch.nc.Stats().OutMsgs + sh.nc.Stats().OutMsgs }
	before := count()
	n := uint64(1000)
	if testing.Short() {
		n = 100 // three windows
	}
	for range n {
		exchange(t, caller, server, 1<<10)
	}
	if got := count() - before; got != 2*n {
		t.Errorf("%d requests took %d messages", n, got)
	}
	before = count()
	for range n {
		exchange(t, caller, server, 2*link.MaxPacket)
	}
	if got := count() - before; got > 6*n {
		t.Errorf("%d exchanges of three packets took %d messages", n, got)
	}
}

// The connection to the server is lost: its owner says so. The other side is told when there is a
// connection again.
func TestConnectionLost(t *testing.T) {
	t.Parallel()
	var owned *link.Link
	failed, dialed := make(chan struct{}), make(chan struct{})
	var once sync.Once // the handler also runs when the connection is closed
	cause := errors.New("the cause")
	bus := newBus(t, 0)
	ch, sh := bus.host(t, nats.ReconnectBufSize(-1), nats.ReconnectWait(1), nats.DisconnectErrHandler(func(*nats.Conn, error) {
		<-dialed
		owned.Fail(cause)
		once.Do(func() { close(failed) })
	})), bus.host(t)
	accepted := sh.accept(t, ch.Public())
	var err error
	if owned, err = link.Dial(t.Context(), ch.nc, ch.Instance, sh.Public(), sh.subject(), nil); err != nil {
		t.Fatal(err)
	}
	close(dialed)
	server := <-accepted
	require.NoError(t, ch.nc.ForceReconnect())
	<-failed
	if _, err := owned.Read(make([]byte, 1)); !errors.Is(err, cause) {
		t.Error(err)
	}
	<-server.Done()
}

// Without a connection, Send fails, and does not leave its bytes to the next one.
func TestSendDisconnected(t *testing.T) {
	t.Parallel()
	bus := newBus(t, 0)
	down := make(chan struct{})
	var once sync.Once // the handler also runs when the connection is closed
	h := bus.host(t, nats.ReconnectWait(time.Hour), nats.DisconnectErrHandler(func(*nats.Conn, error) { once.Do(func() { close(down) }) }))
	other := bus.host(t)
	other.accept(t, h.Public())
	l := require.Must(link.Dial(t.Context(), h.nc, h.Instance, other.Public(), other.subject(), nil))(t)
	require.NoError(t, bus.Close(t.Context()))
	<-down
	assert.ErrorIs(t, l.Send([]byte("x"), nil), nats.ErrDisconnected)
	if _, err := l.Read(make([]byte, 1)); !errors.Is(err, nats.ErrDisconnected) {
		t.Error(err)
	}
	if _, err := link.Dial(t.Context(), h.nc, h.Instance, other.Public(), other.subject(), nil); err == nil {
		t.Error("a link was opened without a connection")
	}
}

// A connection that is closed for good ends its links.
func TestConnectionClosed(t *testing.T) {
	t.Parallel()
	caller, server, ch, _ := newBus(t, 0).pair(t)
	read := make(chan error, 1)
	go func() {
		_, err := caller.Read(make([]byte, 1))
		read <- err
	}()
	ch.nc.Close()
	assert.ErrorIs(t, <-read, nats.ErrConnectionClosed)
	_ = server.Close()
}

func TestSmallMessages(t *testing.T) {
	t.Parallel()
	bus := newBus(t, 512)
	h, other := bus.host(t), bus.host(t)
	if _, err := link.Dial(t.Context(), h.nc, h.Instance, other.Public(), other.subject(), nil); err == nil {
		t.Error("a link was opened with messages of 512 bytes")
	}
	big := newBus(t, 0).host(t)
	if _, err := link.Dial(t.Context(), big.nc, big.Instance, other.Public(), other.subject(), make([]byte, 33<<10)); err == nil {
		t.Error("a host says 33 KiB of itself")
	}
}
