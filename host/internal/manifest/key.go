package manifest

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"path/filepath"

	"github.com/toolhost/toolhost/pluginsdk/wire"
)

// format is the version of the files in the directory. Another one reads none of
// them.
const format = 1

// Subject is a plugin's binary and how it is run.
type Subject struct {
	// Path is the binary's.
	Path string
	// Args are the arguments, without the program's name.
	Args []string
	// Env is the environment, NAME=value. Only a digest of it is kept, as of all
	// that is here.
	Env []string
	// Config is the plugin's own configuration; empty: none.
	Config []byte
	// Host is the version of the host, which decides what a manifest has to pass
	// before it is remembered.
	Host string
}

// Key stands for a subject: two that are described alike have one key, if no plugin
// looks at more than it was given. It tells nothing of the values in it.
type Key struct{ sum [sha256.Size]byte }

// Digest is the SHA-256 of the regular file at a path, which is read where it is not known
// yet.
//
// # Errors
//
// Those of [Cache.Key].
func (c *Cache) Digest(ctx context.Context, path string) ([sha256.Size]byte, error) {
	return c.digests.of(ctx, path)
}

// Key makes the key of a subject. The binary is read where its digest is not known
// yet.
//
// The name of the file belongs to it, as the program sees it among its arguments:
// one binary may be several plugins. The directory does not.
//
// # Errors
//
// Those of [sealed.Open] and of reading the binary, the context's end, and
// [sealed.ErrChanged].
func (c *Cache) Key(ctx context.Context, s Subject) (Key, error) {
	digest, err := c.digests.of(ctx, s.Path)
	if err != nil {
		return Key{}, err
	}
	b := make([]byte, 0, 4<<10)
	b = appendNumber(b, format)
	b = appendNumber(b, wire.ProtocolVersion)
	b = appendText(b, s.Host)
	b = appendText(b, string(digest[:]))
	b = appendText(b, filepath.Base(s.Path))
	b = appendTexts(b, s.Args)
	b = appendTexts(b, s.Env)
	b = appendText(b, string(s.Config))
	return Key{sha256.Sum256(b)}, nil
}

// Each part is written with its length, so that no two subjects read the same.

func appendNumber(b []byte, n int) []byte { return binary.AppendUvarint(b, uint64(n)) } //nolint:gosec // never below zero

func appendText(b []byte, s string) []byte { return append(appendNumber(b, len(s)), s...) }

func appendTexts(b []byte, all []string) []byte {
	b = appendNumber(b, len(all))
	for _, s := range all {
		b = appendText(b, s)
	}
	return b
}
