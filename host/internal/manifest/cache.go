package manifest

import (
	"encoding/hex"
	"fmt"
	"path/filepath"
	"sync"

	"github.com/toolhost/toolhost/pluginsdk/wire"
)

// MaxSize bounds one manifest, in bytes: 4 MiB. What a plugin says beyond that is
// not remembered, and the plugin is started each time.
const MaxSize = 4 << 20

// Cache is a directory of manifests. It is safe for concurrent use, by several
// processes too.
type Cache struct {
	dir     *directory
	digests digests
	pruned  sync.Once
}

// Open opens the cache in a directory, which may have other things in it: the cache is
// a directory of its own there, toolhost-manifests, made with the rights of its owner
// only and a marker if it is not there.
//
// # Errors
//
// [ErrUnsafe] where one of the two belongs to somebody else or others may write to it;
// [ErrForeign] where there is something of that name that toolhost did not make; plain
// errors where it cannot be made.
func Open(dir string) (*Cache, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	own, err := openDirectory(abs)
	if err != nil {
		return nil, err
	}
	return &Cache{dir: own, digests: digests{dir: own}}, nil
}

// Close gives the directory back. Afterwards nothing is found or stored.
func (c *Cache) Close() error { return c.dir.close() }

// Find is what is remembered under a key; false: nothing that can be used.
func (c *Cache) Find(k Key) (wire.Description, bool) {
	payload, err := c.dir.read(k.name(), MaxSize, seal(k.sum[:]))
	if err != nil {
		return wire.Description{}, false
	}
	var about wire.Description
	if err := about.UnmarshalBinary(payload); err != nil {
		return wire.Description{}, false
	}
	return about, true
}

// Store remembers a description.
//
// # Errors
//
// Plain ones, where the description is larger than [MaxSize] or the file cannot be
// written.
func (c *Cache) Store(k Key, about wire.Description) error {
	payload, err := about.MarshalBinary()
	if err != nil {
		return err
	}
	if len(payload) > MaxSize {
		return fmt.Errorf("the description has %d bytes, more than %d", len(payload), MaxSize)
	}
	if err := c.dir.write(k.name(), payload, seal(k.sum[:])); err != nil {
		return err
	}
	c.pruned.Do(c.dir.prune)
	return nil
}

// Forget removes what is remembered under a key. Where that fails, the next start
// finds out about it once more.
func (c *Cache) Forget(k Key) { _ = c.dir.root.Load().Remove(k.name()) }

// name is that of the key's file.
func (k Key) name() string { return hex.EncodeToString(k.sum[:]) }
