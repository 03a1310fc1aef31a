package link

import (
	"crypto/ecdh"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"strings"

	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Instance is one start of a host: the pair of X25519 keys that its links are made with. The secret
// half never leaves the process.
type Instance struct{ key *ecdh.PrivateKey }

// NewInstance makes an instance that no other host has.
func NewInstance() (*Instance, error) {
	key, err := ecdh.X25519().GenerateKey(rand.Reader)
	return &Instance{key}, err
}

// Public returns the public half, 32 bytes.
func (i *Instance) Public() []byte { return i.key.PublicKey().Bytes() }

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

// keySize is the size of the public half of a key, in bytes.
const keySize = 32

// publicKey reads the public half of another's key.
func publicKey(b []byte) (*ecdh.PublicKey, error) {
	key, err := ecdh.X25519().NewPublicKey(b)
	if err != nil {
		return nil, tool.Errorf(tool.CodeInvalidArguments, "a key of another host is not an X25519 key: %w", err)
	}
	return key, nil
}
