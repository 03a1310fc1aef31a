package link

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/ecdh"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/binary"
)

// agreement is what one host brings to the keys of a link.
type agreement struct {
	static, ephemeral             *ecdh.PrivateKey // its own
	remoteStatic, remoteEphemeral *ecdh.PublicKey
}

// ciphers returns the ciphers of the caller's packets and of the server's. Computing them takes the
// secret halves of both keys of one side, and they depend on every byte of opening and answer.
func (a *agreement) ciphers(caller bool, opening, answer []byte) (ofCaller, ofServer cipher.AEAD, err error) {
	static, remote := a.static.PublicKey(), a.remoteStatic
	pairs := [4]struct {
		own   *ecdh.PrivateKey
		other *ecdh.PublicKey
	}{{a.ephemeral, remote}, {a.static, a.remoteEphemeral}, {a.ephemeral, a.remoteEphemeral}, {a.static, remote}}
	if !caller { // the order is the caller's
		pairs[0], pairs[1] = pairs[1], pairs[0]
		static, remote = remote, static
	}
	var shared []byte
	for _, p := range pairs {
		s, err := p.own.ECDH(p.other)
		if err != nil {
			return nil, nil, err
		}
		shared = append(shared, s...)
	}
	transcript := sha256.New()
	for _, part := range [][]byte{[]byte("toolhost link 1"), static.Bytes(), remote.Bytes(), opening, answer} {
		transcript.Write(binary.BigEndian.AppendUint32(nil, uint32(len(part)))) //nolint:gosec // all are short
		transcript.Write(part)
	}
	keys, err := hkdf.Key(sha256.New, shared, transcript.Sum(nil), "toolhost link 1 packets", 64)
	if err != nil {
		return nil, nil, err
	}
	if ofCaller, err = newCipher(keys[:32]); err != nil {
		return nil, nil, err
	}
	ofServer, err = newCipher(keys[32:])
	return ofCaller, ofServer, err
}

func newCipher(key []byte) (cipher.AEAD, error) {
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCM(block)
}
