package manifest

import (
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/toolhost/toolhost/pluginsdk/wire"
)

// MaxSize bounds one manifest, in bytes: 4 MiB. What a plugin says beyond that is
// not remembered, and the plugin is started each time.
const MaxSize = 4 << 20

// ErrUnsafe is the cause where a directory is not used because somebody else could
// write what this host would read in it.
var ErrUnsafe = errors.New("it is not private")

// Cache is a directory of manifests. It is safe for concurrent use, by several
// processes too.
type Cache struct {
	dir     string
	digests digests
	pruned  sync.Once
}

// Open makes the directory, with the rights of its owner only, if it is not there.
//
// # Errors
//
// [ErrUnsafe] where the directory belongs to somebody else or others may write to
// it; plain errors where it cannot be made or is none.
func Open(dir string) (*Cache, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	manifests := filepath.Join(abs, "manifests")
	if err := os.MkdirAll(manifests, 0o700); err != nil {
		if info, statErr := os.Stat(manifests); statErr != nil || !info.IsDir() {
			return nil, err
		}
	}
	for _, d := range []string{abs, manifests} {
		info, err := os.Stat(d)
		if err != nil {
			return nil, err
		}
		if !private(info) {
			return nil, fmt.Errorf("%s belongs to somebody else, or others may write to it: %w", d, ErrUnsafe)
		}
	}
	c := &Cache{dir: abs}
	c.digests.path = filepath.Join(abs, "digests")
	return c, nil
}

// Find is what is remembered under a key; false: nothing that can be used.
func (c *Cache) Find(k Key) (wire.Description, bool) {
	payload, err := readFile(c.path(k), MaxSize, seal(k.sum[:]))
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
	if err := writeFile(c.path(k), payload, seal(k.sum[:])); err != nil {
		return err
	}
	c.pruned.Do(func() { prune(filepath.Dir(c.path(k))) })
	return nil
}

// Forget removes what is remembered under a key. Where that fails, the next start
// finds out about it once more.
func (c *Cache) Forget(k Key) { _ = os.Remove(c.path(k)) }

func (c *Cache) path(k Key) string {
	return filepath.Join(c.dir, "manifests", hex.EncodeToString(k.sum[:]))
}
