package link

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"time"

	"github.com/flynn/noise"
	"github.com/nats-io/nats.go"

	"github.com/toolhost/toolhost/internal/callstage"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// errNotTheHost is the error of an answer that was not made with the key of the host.
var errNotTheHost = tool.Errorf(tool.CodeUnavailable, "the answer to the opening of a link is not that of the host").
	At(callstage.Execute).NeverSent()

// subjectOf returns the subject of the packets to one side of a link.
func subjectOf(link, side string) string { return "toolhost.v1.l." + link + "." + side }

const (
	toCaller = "c"
	toServer = "s"
)

// packetSize returns the size of the packets that a connection takes, in bytes.
func packetSize(nc *nats.Conn) int { return int(min(nc.MaxPayload(), maxPacket)) }

// Dial opens a link to the host whose instance has the public half remote, and whose requests for
// links come on subject. About is what this host says of itself. Ctx bounds only the opening. When
// Dial returns, the other side has proven who it is.
//
// # Errors
//
// [nats.ErrNoResponders] if no such host is there, [nats.ErrDisconnected] without a connection, and
// its other errors; the error of ctx; a [tool.Error] with the code and the message of [Refuse], with [tool.CodeUnavailable] if a
// stranger answers, and with [tool.CodeUnsupported] if the server takes only messages that are too
// small.
func Dial(ctx context.Context, nc *nats.Conn, self *Instance, remote []byte, subject string, about []byte) (*Link, error) {
	if !nc.IsConnected() { // the request would wait for the next connection
		return nil, nats.ErrDisconnected
	}
	id := make([]byte, linkSize)
	_, _ = rand.Read(id) // never fails
	size := packetSize(nc)
	opening, hs, err := newOpening(self, remote, id, about, size)
	if err != nil {
		return nil, err
	}
	// What the server sends at once must not be too early.
	l, err := newLink(nc, token(id), toServer, toCaller)
	if err != nil {
		return nil, err
	}
	m, err := nc.RequestWithContext(ctx, subject, opening)
	if err == nil {
		err = l.agree(hs, m.Data, size)
	}
	if err == nil {
		err = l.signal(0) // proves to the server that the opening is not a replay
	}
	if err != nil {
		l.end(err)
		return nil, err
	}
	return l, nil
}

// agree checks the answer of a server, and starts the caller's side.
func (l *Link) agree(hs *noise.HandshakeState, answer []byte, size int) error {
	if len(answer) == 0 || len(answer) > messageSize+maxRefusal {
		return errNotTheHost
	}
	payload, out, in, err := hs.ReadMessage(nil, answer[1:])
	if err == nil && answer[0] == refused {
		return parseRefusal(payload)
	}
	if err != nil || answer[0] != version || len(payload) != 4 {
		return errNotTheHost
	}
	most := int(binary.BigEndian.Uint32(payload))
	if most < minPacket { // with which a host refuses
		return errNotTheHost
	}
	l.start(out, in, min(most, size))
	l.prove()
	return nil
}

// Accept answers an opening, whose About has to have said that the caller's instance has the public
// half remote. It calls respond once with the answer, when the link is ready. Until the link is
// [Link.Proven], a stranger may have repeated the opening: its owner bounds how many
// such links there are, keeps only one of each ID, and closes those that are not proven in time.
//
// # Errors
//
// [tool.CodeInvalidArguments] if the caller's instance has not made the opening for this one;
// [tool.CodeUnsupported] if the server takes only messages that are too small; those of the connection and of respond.
func Accept(nc *nats.Conn, self *Instance, remote []byte, o *Opening, respond func([]byte) error) (*Link, error) {
	size := packetSize(nc)
	if size < minPacket {
		return nil, tooSmall(size)
	}
	answer, in, out, err := o.answer(self, remote, version, binary.BigEndian.AppendUint32(nil, uint32(size))) //nolint:gosec // at most maxPacket
	if err != nil {
		return nil, err
	}
	l, err := newLink(nc, o.Link, toCaller, toServer)
	if err != nil {
		return nil, err
	}
	l.start(out, in, min(size, o.MaxPacket))
	if err := respond(answer); err != nil {
		l.end(err)
		return nil, err
	}
	return l, nil
}

// newLink returns a link that is subscribed, and not started: what comes is left until it is.
func newLink(nc *nats.Conn, id, to, from string) (*Link, error) {
	l := &Link{
		nc: nc, subject: subjectOf(id, to), epoch: time.Now(),
		done: make(chan struct{}), proven: make(chan struct{}), started: make(chan struct{}),
	}
	l.readable.L, l.writable.L = &l.mu, &l.mu
	l.credit = window
	sub, err := nc.Subscribe(subjectOf(id, from), l.receive)
	if err != nil {
		return nil, err
	}
	l.sub = sub
	err = sub.SetPendingLimits(maxPending, maxPendingBytes)
	sub.SetClosedHandler(func(string) { l.end(nats.ErrConnectionClosed) }) // or the link has ended before
	if err != nil {
		return nil, errors.Join(err, sub.Unsubscribe())
	}
	return l, nil
}
