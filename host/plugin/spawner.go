package plugin

import (
	"runtime"
	"sync"
)

// spawner starts processes from one thread that lives as long as any of them.
//
// A Linux parent-death signal is sent when the thread that forked ends, not the
// process (prctl(2), PR_SET_PDEATHSIG), and the Go runtime ends threads as it
// likes. The thread is there only while there are children, so that a host that
// is closed leaves nothing behind. What is done to the thread concerns what it starts
// and nothing else of the host, see weaken.
type spawner struct {
	mu       sync.Mutex
	children int
	requests chan func()
}

var processes spawner

// start runs f, which forks, on the thread. Each start that succeeds is paired
// with one call of done.
func (s *spawner) start(f func() error) error {
	s.mu.Lock()
	if s.children == 0 {
		s.requests = make(chan func())
		go serveSpawns(s.requests)
	}
	s.children++
	requests := s.requests
	s.mu.Unlock()

	result := make(chan error, 1)
	requests <- func() { result <- f() }
	err := <-result
	if err != nil {
		s.done()
	}
	return err
}

// done says that a child is gone.
func (s *spawner) done() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.children--; s.children == 0 {
		close(s.requests)
	}
}

// serveSpawns ends with its thread locked, so that the thread ends too.
func serveSpawns(requests <-chan func()) {
	runtime.LockOSThread()
	weaken()
	for f := range requests {
		f()
	}
}
