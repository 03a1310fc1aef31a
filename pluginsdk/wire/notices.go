package wire

import (
	"sync"

	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// notices tell the hosts on all of a server's streams that its tools have
// changed. A provider's notices have one receiver, so there is one goroutine for
// all streams; it ends with the provider.
type notices struct {
	once    sync.Once
	mu      sync.Mutex
	streams map[*service]bool
}

// tellChanges lets a stream be told, until the function that it returns is called.
func (s *Server) tellChanges(v *service) (stop func()) {
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
	list.once.Do(func() { go list.forward(n) })
	return func() {
		list.mu.Lock()
		defer list.mu.Unlock()
		delete(list.streams, v)
	}
}

func (n *notices) forward(from tool.Notifier) {
	for range from.Changes() {
		n.mu.Lock()
		for v := range n.streams {
			v.out.control(kindChanged, 0, nil)
			v.out.flushAsync()
		}
		n.mu.Unlock()
	}
}
