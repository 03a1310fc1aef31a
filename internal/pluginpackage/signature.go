package pluginpackage

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"aead.dev/minisign"
)

// What can be wrong with a signature, for [errors.Is].
var (
	// ErrUnsigned: there is no signature.
	ErrUnsigned = errors.New("it is not signed")
	// ErrMalformed: what should be a signature is none that minisign makes.
	ErrMalformed = errors.New("its signature is not one of minisign")
	// ErrUnknownKey: it is signed with a key that no publisher has.
	ErrUnknownKey = errors.New("it is signed with a key of no trusted publisher")
	// ErrWrong: the signature is not of this manifest.
	ErrWrong = errors.New("its signature does not fit its manifest")
	// ErrExceeds: it declares more than its publisher may.
	ErrExceeds = errors.New("it declares more than its publisher may")
)

// Sign returns minisign's signature of a manifest's text, in the prehashed form that minisign
// makes by default. The trusted comment names the plugin, its version and the digest of the text, the
// other one the public key, by which who does not know the publisher recognizes it the next time.
func Sign(key minisign.PrivateKey, s Signed) []byte {
	r := minisign.NewReader(bytes.NewReader(s.Text))
	_, _ = io.Copy(io.Discard, r) // of bytes in memory
	trusted := fmt.Sprintf("plugin %s %s %s", s.Manifest.Name, s.Manifest.Version, digestOf(s.Text))
	return r.SignWithComments(key, trusted, byKey+fmt.Sprint(key.Public()))
}

const byKey = "signature of a toolhost plugin by key "

// Key returns the public key that made the signature, if its comment has that, else the ID that the
// signature names, which anyone can give a key of their own; empty: there is no signature.
func (s Signed) Key() string {
	id, err := s.Signer()
	if err != nil {
		return ""
	}
	var parsed minisign.Signature
	_ = parsed.UnmarshalText(s.Signature)                        // as in Signer
	text, _ := strings.CutPrefix(parsed.UntrustedComment, byKey) // another comment has none
	var key minisign.PublicKey
	if key.UnmarshalText([]byte(text)) == nil && key.ID() == id && s.SignedBy(text) {
		return text
	}
	return KeyID(id)
}

// SignedBy reports whether what [Signed.Key] returned of another manifest has made the signature.
func (s Signed) SignedBy(key string) bool {
	var public minisign.PublicKey
	if public.UnmarshalText([]byte(key)) == nil {
		return s.Signature != nil && minisign.Verify(public, s.Text, s.Signature)
	}
	id, err := s.Signer()
	return err == nil && KeyID(id) == key
}

// KeyID is the ID of a key as minisign shows it.
func KeyID(id uint64) string { return fmt.Sprintf("%X", id) }

// Signer returns the ID of the key that a signature names. That it was made with it, only
// [Publishers.Check] says.
//
// # Errors
//
// [ErrUnsigned], [ErrMalformed].
func (s Signed) Signer() (id uint64, err error) {
	if s.Signature == nil {
		return 0, ErrUnsigned
	}
	var parsed minisign.Signature
	if len(s.Signature) > MaxSignature {
		return 0, fmt.Errorf("%w: it has %d bytes", ErrMalformed, len(s.Signature))
	}
	if err := parsed.UnmarshalText(s.Signature); err != nil {
		return 0, fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	return parsed.KeyID, nil
}
