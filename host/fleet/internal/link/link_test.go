package link_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/toolhost/toolhost/host/fleet/internal/link"
	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Bytes come in order, whatever the sizes of the pieces, of the reads and of the server's messages.
func TestRoundTrips(t *testing.T) {
	t.Parallel()
	for _, maxPayload := range []int32{0, 64 << 10, 4 << 10} {
		caller, server, _, _ := newBus(t, maxPayload).pair(t)
		for _, ends := range [][2]*link.Link{{caller, server}, {server, caller}} {
			const total = 12 << 20 // several windows
			sent, sums := sha256.New(), make(chan []byte, 1)
			go func() {
				sum := sha256.New()
				if n, err := io.Copy(sum, io.LimitReader(ends[1], total)); err != nil || n != total {
					t.Errorf("%d of %d bytes, %v", n, total, err)
				}
				sums <- sum.Sum(nil)
			}()
			random := rand.NewChaCha8([32]byte{})
			for left := total; left > 0; {
				var pieces [][]byte
				for range 1 + rand.IntN(4) {
					p := make([]byte, min(left, rand.IntN(1<<rand.IntN(19))))
					_, _ = random.Read(p)
					sent.Write(p)
					pieces, left = append(pieces, p), left-len(p)
				}
				require.NoError(t, ends[0].Send(pieces[0], pieces[1:]))
			}
			if !bytes.Equal(<-sums, sent.Sum(nil)) {
				t.Errorf("with messages of %d bytes, others came than were sent", maxPayload)
			}
		}
	}
}

// What was sent before Close is read, and then the end; at the side that closes nothing is.
func TestClose(t *testing.T) {
	t.Parallel()
	caller, server, ch, sh := newBus(t, 0).pair(t)
	before := ch.nc.NumSubscriptions()
	require.NoError(t, caller.Send([]byte("last words"), nil))
	require.NoError(t, caller.Close())
	if got, err := io.ReadAll(server); err != nil || string(got) != "last words" {
		t.Errorf("%q, %v", got, err)
	}
	<-server.Done()
	if !errors.Is(server.Err(), io.EOF) || !errors.Is(caller.Err(), net.ErrClosed) {
		t.Errorf("ended with %v and %v", server.Err(), caller.Err())
	}
	assert.ErrorIs(t, server.Send([]byte("x"), nil), io.EOF)
	if _, err := caller.Read(make([]byte, 1)); !errors.Is(err, net.ErrClosed) {
		t.Error(err)
	}
	if n := ch.nc.NumSubscriptions(); n != before-1 {
		t.Errorf("%d subscriptions of %d are left", n, before)
	}
	if n := sh.nc.NumSubscriptions(); n != 1 { // that of its openings
		t.Errorf("%d subscriptions are left", n)
	}
}

func TestFail(t *testing.T) {
	t.Parallel()
	caller, server, _, _ := newBus(t, 0).pair(t)
	read := make(chan error, 1)
	go func() {
		_, err := caller.Read(make([]byte, 1))
		read <- err
	}()
	cause := errors.New("the cause")
	caller.Fail(cause)
	caller.Fail(errors.New("another"))
	if err := <-read; err != cause { //nolint:errorlint // the same
		t.Error(err)
	}
	<-server.Done() // which is told
}

func TestReadDeadline(t *testing.T) {
	t.Parallel()
	caller, server, _, _ := newBus(t, 0).pair(t)
	b := make([]byte, 16)
	read := make(chan error, 1)
	go func() {
		_, err := caller.Read(b)
		read <- err
	}()
	for _, at := range []time.Time{time.Unix(1, 0), time.Now().Add(time.Millisecond)} {
		require.NoError(t, caller.SetReadDeadline(at))
		assert.ErrorIs(t, <-read, os.ErrDeadlineExceeded)
		_ = caller.SetReadDeadline(time.Now().Add(time.Hour))
		_ = caller.SetReadDeadline(time.Time{})
		go func() {
			_, err := caller.Read(b)
			read <- err
		}()
	}
	require.NoError(t, server.Send([]byte("x"), nil))
	if err := <-read; err != nil || b[0] != 'x' {
		t.Errorf("%q, %v", b[0], err)
	}
}

func TestProven(t *testing.T) {
	t.Parallel()
	start := time.Now()
	caller, server, _, _ := newBus(t, 0).pair(t)
	<-caller.Proven()
	<-server.Proven()
	if caller.ID() != server.ID() || caller.Heard().Before(start) || server.Heard().Before(start) {
		t.Errorf("%s and %s, heard at %v and %v", caller.ID(), server.ID(), caller.Heard(), server.Heard())
	}
}

func TestDialNobody(t *testing.T) {
	t.Parallel()
	bus := newBus(t, 0)
	h, other := bus.host(t), bus.host(t)
	_, err := link.Dial(t.Context(), h.nc, h.Instance, other.Public(), other.subject(), nil)
	assert.ErrorIs(t, err, nats.ErrNoResponders)
	if n := h.nc.NumSubscriptions(); n > 1 { // that of all answers
		t.Errorf("%d subscriptions are left", n)
	}
}

func TestDialRefused(t *testing.T) {
	t.Parallel()
	bus := newBus(t, 0)
	const notTheHost = "the answer to the opening of a link is not that of the host"
	for name, c := range map[string]struct {
		refuses error
		answer  []byte // in place of it
		code    tool.Code
		text    string
	}{
		"refused": {&tool.Error{
			Code: tool.CodePermissionDenied, Message: "not \x1b[31myou", Hint: "ask", OperatorHint: "secret", Detail: "secret",
		}, nil, tool.CodePermissionDenied, `not \x1b[31myou (ask)`},
		"plain":              {errors.New("no"), nil, tool.CodeUnavailable, "no"},
		"long":               {tool.Errorf(tool.CodeRateLimited, "%s", strings.Repeat("a", 9<<10)), nil, tool.CodeRateLimited, ""},
		"canceled":           {context.Canceled, nil, tool.CodeUnavailable, "context canceled"},
		"nothing":            {nil, nil, tool.CodeUnavailable, notTheHost},
		"garbage":            {nil, []byte("garbage"), tool.CodeUnavailable, notTheHost},
		"short":              {nil, []byte{0}, tool.CodeUnavailable, notTheHost},
		"huge":               {nil, bytes.Repeat([]byte{0}, 1<<20), tool.CodeUnavailable, notTheHost},
		"forged":             {nil, append([]byte{1}, make([]byte, 52)...), tool.CodeUnavailable, notTheHost},
		"a stranger refuses": {nil, append([]byte{0}, `{"code":"permission_denied","message":"go"}`...), tool.CodeUnavailable, notTheHost},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, other := bus.host(t), bus.host(t)
			require.Must(other.nc.Subscribe(other.subject(), func(m *nats.Msg) {
				answer := c.answer
				if o, err := link.ParseOpening(m.Data); err == nil && c.refuses != nil {
					answer = link.Refuse(other.Instance, h.Public(), o, c.refuses)
				}
				_ = m.Respond(answer)
			}))(t)
			require.NoError(t, other.nc.Flush())
			_, err := link.Dial(t.Context(), h.nc, h.Instance, other.Public(), other.subject(), nil)
			if tool.CodeOf(err) != c.code || len(err.Error()) > 600 || c.text != "" && err.Error() != c.text {
				t.Errorf("%s: %v", tool.CodeOf(err), err)
			}
			if n := h.nc.NumSubscriptions(); n > 1 {
				t.Errorf("%d subscriptions are left", n)
			}
		})
	}
}

// No answer comes, and the context ends.
func TestDialCanceled(t *testing.T) {
	t.Parallel()
	bus := newBus(t, 0)
	h, other := bus.host(t), bus.host(t)
	ctx, cancel := context.WithCancel(t.Context())
	require.Must(other.nc.Subscribe(other.subject(), func(*nats.Msg) { cancel() }))(t)
	require.NoError(t, other.nc.Flush())
	if _, err := link.Dial(ctx, h.nc, h.Instance, other.Public(), other.subject(), nil); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestRespondFails(t *testing.T) {
	t.Parallel()
	bus := newBus(t, 0)
	h, other := bus.host(t), bus.host(t)
	opening := make(chan []byte, 1)
	require.Must(other.nc.Subscribe(other.subject(), func(m *nats.Msg) {
		opening <- m.Data
		_ = m.Respond(nil)
	}))(t)
	require.NoError(t, other.nc.Flush())
	_, _ = link.Dial(t.Context(), h.nc, h.Instance, other.Public(), other.subject(), []byte("about"))
	o, err := link.ParseOpening(<-opening)
	if err != nil || string(o.About) != "about" {
		t.Fatalf("%+v, %v", o, err)
	}
	cause := errors.New("the cause")
	if _, err := link.Accept(other.nc, other.Instance, h.Public(), o, func([]byte) error { return cause }); !errors.Is(err, cause) {
		t.Error(err)
	}
	if _, err := link.Accept(other.nc, other.Instance, []byte("short"), o, nil); tool.CodeOf(err) != tool.CodeInvalidArguments {
		t.Error(err)
	}
	if _, err := link.Accept(other.nc, other.Instance, make([]byte, 32), o, nil); tool.CodeOf(err) != tool.CodeInvalidArguments {
		t.Error(err)
	}
	if n := other.nc.NumSubscriptions(); n != 1 {
		t.Errorf("%d subscriptions are left", n)
	}
}
