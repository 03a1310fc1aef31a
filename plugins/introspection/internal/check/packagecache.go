package check

import (
	"context"
	"sync"

	"github.com/toolhost/toolhost/plugins/internal/source"
	"github.com/toolhost/toolhost/plugins/introspection/internal/singleflight"
)

const (
	// maxPackages is how many packages stay loaded. One takes ten megabytes, a large
	// one fifty.
	maxPackages = 16
	// maxLoads is how many packages load at once: the go command and the type checker
	// use all cores.
	maxLoads = 2
)

// packageCache has the packages that are loaded. It is safe for concurrent use.
type packageCache struct {
	mu      sync.Mutex
	entries map[string]*packageEntry // by pattern
	clock   int64
	loading singleflight.Group[*Package]
	once    sync.Once
	slots   chan struct{}
}

type packageEntry struct {
	pkg         *Package
	fingerprint source.Fingerprint
	used        int64 // the clock when it was last used
}

func (c *packageCache) get(pattern string, now source.Fingerprint) *Package {
	c.mu.Lock()
	defer c.mu.Unlock()
	found := c.entries[pattern]
	if found == nil || found.fingerprint != now {
		return nil
	}
	c.clock++
	found.used = c.clock
	return found.pkg
}

// put adds a package, and removes the one that was used longest ago if there are too
// many.
func (c *packageCache) put(pattern string, now source.Fingerprint, p *Package) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.entries == nil {
		c.entries = map[string]*packageEntry{}
	}
	c.clock++
	c.entries[pattern] = &packageEntry{pkg: p, fingerprint: now, used: c.clock}
	for len(c.entries) > maxPackages {
		oldest := pattern
		for other, e := range c.entries {
			if e.used < c.entries[oldest].used {
				oldest = other
			}
		}
		delete(c.entries, oldest)
	}
}

// acquire waits until another load may start.
func (c *packageCache) acquire(ctx context.Context) (release func(), err error) {
	c.once.Do(func() { c.slots = make(chan struct{}, maxLoads) })
	select {
	case c.slots <- struct{}{}:
		return func() { <-c.slots }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
