package link

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"strings"

	"github.com/flynn/noise"
)

// Instance is one start of a host: the pair of X25519 keys that its links are made with. The secret
// half never leaves the process.
type Instance struct{ key noise.DHKey }

// NewInstance makes an instance that no other host has.
func NewInstance() (*Instance, error) {
	key, err := noise.DH25519.GenerateKeypair(rand.Reader)
	return &Instance{key}, err
}

// Public returns the public half, 32 bytes.
func (i *Instance) Public() []byte { return i.key.Public }

// ID returns the [IDOf] the public half.
func (i *Instance) ID() string { return IDOf(i.Public()) }

// IDOf returns the name of an instance in subjects: 26 lower-case letters and digits, which follow
// from its public half.
func IDOf(public []byte) string {
	sum := sha256.Sum256(public)
	return token(sum[:16])
}

var base32Lower = base32.StdEncoding.WithPadding(base32.NoPadding)

// token returns bytes as a token of a subject.
func token(b []byte) string { return strings.ToLower(base32Lower.EncodeToString(b)) }

var suite = noise.NewCipherSuite(noise.DH25519, noise.CipherAESGCM, noise.HashSHA256)

// handshake returns the settings of Noise_KK_25519_AESGCM_SHA256: each side knows the other's instance before the
// first of its two messages, and both have to mean the same prologue.
func (i *Instance) handshake(caller bool, remote, prologue []byte) noise.Config {
	return noise.Config{
		CipherSuite: suite, Pattern: noise.HandshakeKK, Initiator: caller, Prologue: prologue,
		StaticKeypair: i.key, PeerStatic: remote,
	}
}
