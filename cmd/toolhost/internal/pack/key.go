package pack

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"aead.dev/minisign"

	"github.com/toolhost/toolhost/internal/pluginpackage"
	"github.com/toolhost/toolhost/internal/safefile"
)

// maxKey bounds a key file, in bytes.
const maxKey = 4 << 10

// Key is a pair of keys of minisign.
type Key struct {
	ID     string `json:"id"`
	Public string `json:"public"` // the line of base64
	File   string `json:"file"`   // of the secret key; the public one has .pub in place of its ending
}

// PublicFile is the file of the public key that belongs to a secret one.
func (k Key) PublicFile() string {
	base, ok := strings.CutSuffix(k.File, ".key")
	if !ok {
		base = k.File
	}
	return base + ".pub"
}

// NewKey makes a pair of keys, as files that minisign reads: the secret one is encrypted with a
// password. Empty: it is not encrypted.
//
// # Errors
//
// [fs.ErrExist] if one of the files exists; those of the system.
func NewKey(file, password string) (Key, error) {
	public, private, err := minisign.GenerateKey(rand.Reader)
	if err != nil {
		return Key{}, err
	}
	k := Key{ID: pluginpackage.KeyID(public.ID()), Public: public.String(), File: file}
	secret, err := private.MarshalText()
	if password != "" {
		secret, err = minisign.EncryptKey(password, private)
	}
	if err != nil {
		return Key{}, err
	}
	text, err := public.MarshalText()
	if err != nil {
		return Key{}, err
	}
	if err := safefile.Create(file, endLine(secret), 0o600); err != nil {
		return Key{}, err
	}
	return k, safefile.Create(k.PublicFile(), endLine(text), 0o644)
}

func endLine(text []byte) []byte { return append(bytes.TrimRight(text, "\n"), '\n') }

// ReadKey reads a secret key of minisign. The password is asked for if it is encrypted.
//
// # Errors
//
// A plain error if other users can read the file, if it is not such a key, or if the password is
// wrong; those of password.
func ReadKey(file string, password func() (string, error)) (key minisign.PrivateKey, err error) {
	f, info, err := safefile.OpenTarget(file)
	if errors.Is(err, fs.ErrNotExist) {
		return key, fmt.Errorf("there is no key %s: make one with toolhost dev keygen %s", file, file)
	}
	if err != nil {
		return key, err
	}
	_ = f.Close()
	if !safefile.Private(info, 0o077) {
		return key, fmt.Errorf("the key %s can be read by other users: chmod 600 %s", file, file)
	}
	text, err := readFile(file, maxKey)
	if err != nil {
		return key, err
	}
	if !minisign.IsEncrypted(text) {
		if err := key.UnmarshalText(text); err != nil {
			return key, fmt.Errorf("%s is not a secret key of minisign: %w", file, err)
		}
		return key, nil
	}
	word, err := password()
	if err != nil {
		return key, err
	}
	if key, err = minisign.DecryptKey(word, text); err != nil {
		return key, fmt.Errorf("%s cannot be decrypted: the password is wrong, or the file is damaged: %w", file, err)
	}
	return key, nil
}
