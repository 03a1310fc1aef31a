package durable

import (
	"encoding/binary"
	"errors"

	"github.com/nats-io/nkeys"
)

// What a signature is for, so that none counts as another.
const (
	forOrder  = "toolhost.v1.durable.order\x00"
	forTicket = "toolhost.v1.durable.ticket\x00"
	forStatus = "toolhost.v1.durable.status\x00"
)

const signatureSize = 64

var errSignature = errors.New("the signature is not that of the key")

// seal returns the signature of a body, followed by it.
func seal(k Key, purpose string, body []byte) ([]byte, error) {
	sig, err := k.Sign(append([]byte(purpose), body...))
	if err != nil {
		return nil, err
	}
	return append(sig, body...), nil
}

// bodyOf returns what is signed; the signature is not checked.
func bodyOf(sealed []byte) ([]byte, error) {
	if len(sealed) <= signatureSize {
		return nil, errSignature
	}
	return sealed[signatureSize:], nil
}

// check reports whether a key has sealed something.
func check(public, purpose string, sealed []byte) error {
	body, err := bodyOf(sealed)
	if err != nil {
		return err
	}
	key, err := nkeys.FromPublicKey(public)
	if err != nil {
		return err
	}
	if key.Verify(append([]byte(purpose), body...), sealed[:signatureSize]) != nil {
		return errSignature
	}
	return nil
}

// pack joins parts, each behind its length.
func pack(parts ...[]byte) []byte {
	var out []byte
	for _, p := range parts {
		out = append(binary.BigEndian.AppendUint32(out, uint32(len(p))), p...) //nolint:gosec // messages are smaller
	}
	return out
}

// unpack is the reverse of pack for n parts.
func unpack(b []byte, n int) ([][]byte, error) {
	var parts [][]byte
	for len(b) >= 4 && len(parts) < n {
		size := uint64(binary.BigEndian.Uint32(b))
		if b = b[4:]; size > uint64(len(b)) {
			break
		}
		parts, b = append(parts, b[:size:size]), b[size:]
	}
	if len(parts) != n || len(b) > 0 {
		return nil, errors.New("it is cut off, or of another form")
	}
	return parts, nil
}
