package mcpclient

import (
	"sync"
	"time"

	"github.com/toolhost/toolhost/host/internal/mcpwire"
)

// maxListAge is how long a list of a server is believed that does not say when it changes.
const maxListAge = 5 * time.Minute

// itemList is a list of a server, until it changes.
type itemList struct {
	mu      sync.Mutex
	items   []mcpwire.Item
	fresh   bool
	at      time.Time
	version int // counts changes
}

func (k *itemList) forget() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.fresh = false
	k.version++
}

// last returns the list as it was last, at most so many of it.
func (k *itemList) last(most int) []mcpwire.Item {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.items[:min(len(k.items), most)]
}

// of returns the list, or what list does if that is not known to be it.
func (k *itemList) of(list func() ([]mcpwire.Item, error)) ([]mcpwire.Item, error) {
	k.mu.Lock()
	if k.fresh && time.Since(k.at) < maxListAge {
		defer k.mu.Unlock()
		return k.items, nil
	}
	version := k.version
	k.mu.Unlock()
	items, err := list()
	if err != nil {
		return nil, err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.version == version {
		k.items, k.fresh, k.at = items, true, time.Now()
	}
	return items, nil
}
