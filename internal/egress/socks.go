package egress

import (
	"encoding/binary"
	"io"
	"net/netip"
	"slices"
	"time"
)

// SOCKS5, RFC 1928.
const (
	socksVersion = 5

	socksNoAuth, socksNoMethod = 0, 0xff
	socksConnect               = 1
	socksIPv4                  = 1
	socksName                  = 3
	socksIPv6                  = 4

	socksDone            = 0
	socksFailed          = 1
	socksNotAllowed      = 2
	socksNetUnreachable  = 3
	socksHostUnreachable = 4
	socksConnRefused     = 5
	socksExpired         = 6
	socksNoCommand       = 7
	socksNoAddress       = 8
)

// socks serves a client whose version was read.
func (s *session) socks() {
	methods, err := s.readCounted()
	if err != nil {
		return
	}
	if !slices.Contains(methods, socksNoAuth) {
		_, _ = s.client.Write([]byte{socksVersion, socksNoMethod})
		s.linger()
		return
	}
	if _, err := s.client.Write([]byte{socksVersion, socksNoAuth}); err != nil {
		return
	}
	t, reply, err := s.readRequest()
	if err != nil {
		return
	}
	_ = s.client.SetReadDeadline(time.Time{})
	if reply != socksDone {
		s.proxy.report(Refused, "", malformed)
		s.reply(reply)
		return
	}
	upstream, f := s.connect(s.ctx, t)
	if f != nil {
		s.reply(f.reply)
		return
	}
	if s.sendReply(socksDone) == nil {
		s.tunnel(nil, upstream)
	}
}

// readRequest reads where a client wants to connect to, or the reply to what is not that.
func (s *session) readRequest() (t target, reply byte, err error) {
	head := make([]byte, 4) // version, command, reserved, kind of address
	if _, err := io.ReadFull(s.client, head); err != nil {
		return target{}, 0, err
	}
	if head[0] != socksVersion {
		return target{}, socksFailed, nil
	}
	if head[1] != socksConnect {
		return target{}, socksNoCommand, nil
	}
	var address []byte
	switch head[3] {
	case socksIPv4:
		address = make([]byte, 4)
		_, err = io.ReadFull(s.client, address)
	case socksIPv6:
		address = make([]byte, 16)
		_, err = io.ReadFull(s.client, address)
	case socksName:
		address, err = s.readCounted()
	default:
		return target{}, socksNoAddress, nil
	}
	port := make([]byte, 2)
	if err == nil {
		_, err = io.ReadFull(s.client, port)
	}
	if err != nil {
		return target{}, 0, err
	}
	t.port = binary.BigEndian.Uint16(port)
	if addr, ok := netip.AddrFromSlice(address); ok && head[3] != socksName {
		t.addr = addr.Unmap()
	} else {
		t.host, _ = parseHost(string(address))
	}
	if t.port == 0 || t.host == (host{}) {
		return target{}, socksNotAllowed, nil
	}
	return t, socksDone, nil
}

// readCounted reads a byte, and as many as it says.
func (s *session) readCounted() ([]byte, error) {
	n := make([]byte, 1)
	if _, err := io.ReadFull(s.client, n); err != nil {
		return nil, err
	}
	b := make([]byte, n[0])
	_, err := io.ReadFull(s.client, b)
	return b, err
}

func (s *session) sendReply(reply byte) error {
	_, err := s.client.Write([]byte{socksVersion, reply, 0, socksIPv4, 0, 0, 0, 0, 0, 0})
	return err
}

// reply sends a reply that ends the connection.
func (s *session) reply(reply byte) {
	if s.sendReply(reply) == nil {
		s.linger()
	}
}
