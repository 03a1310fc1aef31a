package manifest

import (
	"context"
	"sync"

	"github.com/toolhost/toolhost/internal/marked"
	"github.com/toolhost/toolhost/internal/wire"
)

// MaxSize bounds one file, in bytes: 4 MiB. A plugin that describes itself at greater
// length is not remembered, and is started each time.
const MaxSize = 4 << 20

// directoryName is the directory of this package in a directory for caches. No other
// program is likely to use the name, and the marker says that none does.
const directoryName = "toolhost-manifests"

// directory is the open directory, with its files.
type directory struct{ *marked.Dir }

// Cache is a directory of manifests. It is safe for concurrent use, by several
// processes too.
type Cache struct {
	dir     directory
	digests digests
	pruned  sync.Once
}

// Open opens the cache in a directory, which may have other things in it: the cache is
// a directory of its own there, toolhost-manifests, made with the rights of its owner
// only and a marker if it is not there.
//
// # Errors
//
// [marked.ErrUnsafe] if one of the two belongs to another user or others may write to it;
// [marked.ErrForeign] if there is something of that name that toolhost did not make; plain
// errors if it cannot be made.
func Open(dir string) (*Cache, error) {
	own, err := marked.Open(dir, directoryName)
	if err != nil {
		return nil, err
	}
	return &Cache{dir: directory{own}}, nil
}

// Close closes the directory. Afterwards nothing is found or stored.
func (c *Cache) Close() error { return c.dir.Close() }

// Find returns what is remembered of a subject, and the SHA-256 of its binary; false:
// nothing, or nothing that holds for the binary, and the files that the plugin names, as they
// are now. The binary is read if it is not the very file that was hashed before.
func (c *Cache) Find(ctx context.Context, s Subject) (about wire.Description, sum Digest, ok bool) {
	r, ok := c.find(ctx, s)
	if !ok || r.Failure != nil {
		return wire.Description{}, Digest{}, false
	}
	return r.Description.unpack(), r.SHA256, true
}

// FindFailure returns how the newest start of a subject failed that did not describe
// itself, and the SHA-256 of its binary; false: none did, as Find says it.
func (c *Cache) FindFailure(ctx context.Context, s Subject) (f Failure, sum Digest, ok bool) {
	r, ok := c.find(ctx, s)
	if !ok || r.Failure == nil {
		return Failure{}, Digest{}, false
	}
	return *r.Failure, r.SHA256, true
}

// find returns what is remembered of a subject as its binary is now.
func (c *Cache) find(ctx context.Context, s Subject) (*record, bool) {
	r, err := c.dir.read(s.name())
	if err != nil {
		return nil, false
	}
	sum, file, err := c.digestOf(ctx, s, r)
	if err != nil || sum != r.SHA256 || !s.unchanged(r.Files) {
		return nil, false
	}
	if file != r.File {
		r.File = file
		_ = c.dir.write(s.name(), r) // or it is hashed again the next time
	}
	return r, true
}

// Hash reads a subject's binary, so that Store need not: it can be done for many side by
// side.
func (c *Cache) Hash(ctx context.Context, s Subject) { _, _, _ = c.digestOf(ctx, s, &record{}) }

// digestOf returns the digest of what the subject is.
func (c *Cache) digestOf(ctx context.Context, s Subject, r *record) (Digest, identity, error) {
	if s.Server != nil {
		return *s.Server, identity{}, nil
	}
	return c.digests.of(ctx, s.Path, r)
}

// Digest returns the SHA-256 of a file, which is read if it is not one that was hashed before.
//
// # Errors
//
// Those of reading the file.
func (c *Cache) Digest(ctx context.Context, path string) (Digest, error) {
	sum, _, err := c.digests.of(ctx, path, &record{})
	return sum, err
}

// Store remembers a description, and returns the SHA-256 of the subject's binary.
//
// # Errors
//
// Those of reading the binary, and of writing the file; plain ones for a description that
// is larger than [MaxSize] or cannot be written as JSON.
func (c *Cache) Store(ctx context.Context, s Subject, about wire.Description) (Digest, error) {
	return c.store(ctx, s, &record{Description: pack(about), Files: namedFiles(s, about.Files)})
}

// StoreFailure remembers how a start failed, in place of a description.
//
// # Errors
//
// Those of [Cache.Store].
func (c *Cache) StoreFailure(ctx context.Context, s Subject, f Failure) error {
	_, err := c.store(ctx, s, &record{Failure: &f})
	return err
}

func (c *Cache) store(ctx context.Context, s Subject, r *record) (Digest, error) {
	before, err := c.dir.read(s.name())
	if err != nil {
		before = &record{}
	}
	sum, file, err := c.digestOf(ctx, s, before)
	if err != nil {
		return Digest{}, err
	}
	r.Path, r.SHA256, r.File = s.Path, sum, file
	if err := c.dir.write(s.name(), r); err != nil {
		return sum, err
	}
	c.pruned.Do(c.dir.prune)
	return sum, nil
}

// Forget removes what is remembered of a subject. If that fails, it is found again.
func (c *Cache) Forget(s Subject) { _ = c.dir.Root().Remove(s.name()) }
