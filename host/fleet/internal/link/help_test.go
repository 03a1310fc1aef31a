package link_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"

	"github.com/toolhost/toolhost/host/fleet/internal/link"
	"github.com/toolhost/toolhost/internal/embedded"
	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// bus is a server, and who may log in to it.
type bus struct {
	*embedded.Server
	key nkeys.KeyPair
}

func newBus(t testing.TB, maxPayload int32) *bus {
	t.Helper()
	key := require.Must(nkeys.CreateUser())(t)
	public := require.Must(key.PublicKey())(t)
	s := require.Must(embedded.Start(embedded.Config{Keys: []string{public}, MaxPayload: maxPayload}))(t)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 10*time.Second)
		defer cancel()
		assert.NoError(t, s.Close(ctx))
	})
	return &bus{s, key}
}

func (b *bus) connect(t testing.TB, options ...nats.Option) *nats.Conn {
	t.Helper()
	public := require.Must(b.key.PublicKey())(t)
	nc := require.Must(nats.Connect(b.URL(), append([]nats.Option{nats.Nkey(public, b.key.Sign)}, options...)...))(t)
	t.Cleanup(nc.Close)
	return nc
}

// host is a connection and an instance.
type host struct {
	*link.Instance
	nc *nats.Conn
}

func (b *bus) host(t testing.TB, options ...nats.Option) *host {
	t.Helper()
	i := require.Must(link.NewInstance())(t)
	return &host{i, b.connect(t, options...)}
}

func (h *host) subject() string { return "toolhost.v1.h." + h.ID() + ".open" }

// accept accepts the next openings of the instance remote, and refuses others.
func (h *host) accept(t testing.TB, remote []byte) <-chan *link.Link {
	t.Helper()
	out := make(chan *link.Link, 16)
	sub, err := h.nc.Subscribe(h.subject(), func(m *nats.Msg) {
		o, err := link.ParseOpening(m.Data)
		if err != nil {
			t.Error(err)
			return
		}
		l, err := link.Accept(h.nc, h.Instance, remote, o, m.Respond)
		switch {
		case tool.CodeOf(err) == tool.CodeInvalidArguments:
			_ = m.Respond(link.Refuse(h.Instance, remote, o, err))
		case err != nil:
			t.Error(err)
		default:
			out <- l
		}
	})
	if err == nil {
		err = h.nc.Flush()
	}
	require.NoError(t, err)
	t.Cleanup(func() {
		if err := sub.Unsubscribe(); err != nil && !errors.Is(err, nats.ErrConnectionClosed) && !errors.Is(err, nats.ErrBadSubscription) {
			t.Error(err)
		}
	})
	return out
}

// pair returns both ends of a link, and their hosts.
func (b *bus) pair(t testing.TB, options ...nats.Option) (caller, server *link.Link, ch, sh *host) {
	t.Helper()
	ch, sh = b.host(t, options...), b.host(t, options...)
	accepted := sh.accept(t, ch.Public())
	caller = require.Must(link.Dial(t.Context(), ch.nc, ch.Instance, sh.Public(), sh.subject(), []byte("about")))(t)
	server = <-accepted
	t.Cleanup(func() { _, _ = caller.Close(), server.Close() })
	return caller, server, ch, sh
}
