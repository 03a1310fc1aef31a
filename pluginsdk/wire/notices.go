package wire

import (
	"sync"

	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// notices tells the hosts on all of a server's streams that its tools have changed.
// Only one goroutine may receive from a provider's Changes, so it serves all streams;
// it ends with the provider.
type notices struct {
	once    sync.Once
	mu      sync.Mutex
	streams map[*service]bool
}

// subscribe sends change notices to a stream until stop is called.
func (s *Server) subscribe(v *service) (stop func()) {
	n, ok := s.Provider.(tool.Notifier)
	if !ok {
		return func() {}
	}
	list := &s.notices
	list.mu.Lock()
	if list.streams == nil {
		list.streams = map[*service]bool{}
	}
	list.streams[v] = true
	list.mu.Unlock()
	list.once.Do(func() { go list.broadcast(n) })
	return func() {
		list.mu.Lock()
		defer list.mu.Unlock()
		delete(list.streams, v)
	}
}

func (n *notices) broadcast(from tool.Notifier) {
	for range from.Changes() {
		n.mu.Lock()
		for v := range n.streams {
			v.out.control(kindChanged, 0, nil)
			v.out.flushAsync()
		}
		n.mu.Unlock()
	}
}
