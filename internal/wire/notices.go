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
	missed  bool // the tools changed while there was no stream to tell
}

// listen begins to receive from a provider whose tools can change. It is called before the
// tools are listed, so that no change is missed.
func (s *Server) listen() {
	if n, ok := s.Provider.(tool.Notifier); ok {
		s.notices.once.Do(func() {
			changes := n.Changes()
			go s.notices.broadcast(changes)
		})
	}
}

// subscribe sends change notices to a stream until stop is called.
func (s *Server) subscribe(v *service) (stop func()) {
	if _, ok := s.Provider.(tool.Notifier); !ok {
		return func() {}
	}
	s.listen()
	list := &s.notices
	list.mu.Lock()
	if list.streams == nil {
		list.streams = map[*service]bool{}
	}
	list.streams[v] = true
	if list.missed {
		list.missed = false
		v.tellChanged()
	}
	list.mu.Unlock()
	return func() {
		list.mu.Lock()
		defer list.mu.Unlock()
		delete(list.streams, v)
	}
}

func (n *notices) broadcast(changes <-chan struct{}) {
	for range changes {
		n.mu.Lock()
		for v := range n.streams {
			v.tellChanged()
		}
		n.missed = len(n.streams) == 0
		n.mu.Unlock()
	}
}

func (v *service) tellChanged() {
	v.out.control(kindChanged, 0, nil)
	v.out.flushAsync()
}
