package fleet

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/nats-io/nkeys"

	"github.com/toolhost/toolhost/internal/safefile"
)

// Key is the key of a host, by which others know it: an NKey of the user type
// (https://docs.nats.io/running-a-nats-service/configuration/securing_nats/auth_intro/nkey_auth). It signs what
// the host publishes, and is what the host logs in to the NATS server with if it has no other
// credentials. It prints only its public half.
type Key struct {
	pair   nkeys.KeyPair
	public string
}

// NewKey makes a key that no other host has.
func NewKey() (Key, error) {
	pair, err := nkeys.CreateUser()
	if err != nil {
		return Key{}, err
	}
	return keyOf(pair)
}

func keyOf(pair nkeys.KeyPair) (Key, error) {
	public, err := pair.PublicKey()
	if err == nil && !nkeys.IsValidPublicUserKey(public) {
		err = errors.New("it is not the seed of a user's key, which begins with SU")
	}
	return Key{pair, public}, err
}

// KeyFile reads the key in a file, which holds its seed, and makes one if there is no file.
//
// # Errors
//
// Plain ones: the file is not such a key, or other users can read it; those of the system.
func KeyFile(path string) (Key, error) {
	key, err := readKey(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return key, err
	}
	if key, err = NewKey(); err != nil {
		return Key{}, err
	}
	seed, err := key.pair.Seed()
	if err == nil {
		err = os.MkdirAll(filepath.Dir(path), 0o700)
	}
	if err == nil {
		err = safefile.Create(path, append(seed, '\n'), 0o600)
	}
	if errors.Is(err, fs.ErrExist) { // another host of the user has just made it
		return readKey(path)
	}
	return key, err
}

// maxSeed bounds a file with a seed, in bytes.
const maxSeed = 4 << 10

func readKey(path string) (Key, error) {
	f, info, err := safefile.OpenTarget(path)
	if err != nil {
		return Key{}, err
	}
	defer f.Close() //nolint:errcheck // it is only read
	if !safefile.Private(info, 0o077) {
		return Key{}, fmt.Errorf("%s is a secret key that other users can read: chmod 600 %s, and make a new one if they may have", path, path)
	}
	text, err := io.ReadAll(io.LimitReader(f, maxSeed))
	if err != nil {
		return Key{}, err
	}
	seed, err := nkeys.ParseDecoratedUserNKey(text)
	if err != nil {
		seed, err = nkeys.FromSeed(bytes.TrimSpace(text))
	}
	if err != nil {
		return Key{}, fmt.Errorf("%s is not the seed of an NKey: %w", path, err)
	}
	key, err := keyOf(seed)
	if err != nil {
		return Key{}, fmt.Errorf("%s: %w", path, err)
	}
	return key, nil
}

// Public returns the public half, U followed by 55 letters and digits; empty: there is no key.
func (k Key) Public() string { return k.public }

// String returns the public half.
func (k Key) String() string { return k.public }

// GoString keeps the secret half out of %#v.
func (k Key) GoString() string { return "fleet.Key(" + k.public + ")" }

// Sign signs a message.
func (k Key) Sign(message []byte) ([]byte, error) { return k.pair.Sign(message) }

// maxNonce bounds what a server may have signed at a login, in characters; nats-server's nonces have 15.
const maxNonce = 64

// signNonce signs what a server sends at a login. The server may be anyone's, and the key also signs
// announcements and durable calls: only what cannot be one of these, short and of the letters of
// base64url, is signed.
func (k Key) signNonce(nonce []byte) ([]byte, error) {
	letter := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_'
	}
	if len(nonce) > maxNonce || bytes.ContainsFunc(nonce, func(r rune) bool { return !letter(r) }) {
		return nil, errors.New("the server wants something signed that is not the nonce of a login: it may be a false one")
	}
	return k.pair.Sign(nonce)
}

// validKey reports whether text is the public half of a [Key].
func validKey(text string) bool { return nkeys.IsValidPublicUserKey(text) }

// verified reports whether a signature of a message is that of the key with this public half.
func verified(public string, message, signature []byte) bool {
	key, err := nkeys.FromPublicKey(public)
	return err == nil && key.Verify(message, signature) == nil
}
