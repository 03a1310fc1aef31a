package main

import (
	"context"
	"slices"
	"sync"
	"time"
)

// session is what one caller has done so far. The lock is held during a call:
// calls of one session run one after the other.
type session struct {
	lock     chan struct{}
	used     int64 // see [sessions.get]
	forms    int   // how many there were
	packages map[string]*scope
	history  []entry
	last     *failure
}

// scope is what a session declared in one package.
type scope struct {
	units   []*unit
	imports map[string]string // name to path
	blank   []string
}

// entry is one line of the history.
type entry struct {
	Number  int    `json:"number" jsonschema:"of the form in the session"`
	Tool    string `json:"tool" jsonschema:"eval_form or compile_form"`
	Package string `json:"package,omitempty"`
	Form    string `json:"form"`
	OK      bool   `json:"ok"`
	Result  string `json:"result" jsonschema:"values, or what went wrong"`
	Time    string `json:"time" jsonschema:"when it began"`
	Took    string `json:"took"`
}

// failure is what went wrong last.
type failure struct {
	Number  int    `json:"number" jsonschema:"of the form in the session"`
	Tool    string `json:"tool" jsonschema:"eval_form or compile_form"`
	Package string `json:"package,omitempty"`
	Form    string `json:"form"`
	Kind    string `json:"kind" jsonschema:"compile, panic, exit, time, memory, processes or other"`
	Message string `json:"message"`
	Stack   string `json:"stack,omitempty" jsonschema:"goroutine stacks, where the program crashed"`
	Time    string `json:"time"`
}

// Bounds of what is kept. A session takes at most half a megabyte.
const (
	maxSessions   = 256
	maxScopes     = 16        // packages that a session has declarations in
	maxKept       = 256 << 10 // bytes of a session's declarations
	maxHistory    = 100
	maxRemembered = 128 << 10 // bytes of a session's history
	maxEntryForm  = 4 << 10
	maxEntryText  = 1 << 10
)

// sessions are those that called, but for the ones whose last call is longest ago
// where there are too many. It is safe for concurrent use.
type sessions struct {
	mu    sync.Mutex
	known map[string]*session
	clock int64
}

func newSession() *session {
	return &session{lock: make(chan struct{}, 1), packages: map[string]*scope{}}
}

// get is the session with an ID. Callers without one cannot be told apart, so each
// of their calls has a session of its own, which is forgotten.
func (s *sessions) get(id string) *session {
	if id == "" {
		return newSession()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.known == nil {
		s.known = map[string]*session{}
	}
	s.clock++
	found := s.known[id]
	if found == nil {
		found = newSession()
		s.known[id] = found
	}
	found.used = s.clock
	for len(s.known) > maxSessions {
		oldest := id
		for other, v := range s.known {
			if v.used < s.known[oldest].used {
				oldest = other
			}
		}
		delete(s.known, oldest)
	}
	return found
}

// take waits for the calls of the session that came before.
func (s *session) take(ctx context.Context) (release func(), err error) {
	select {
	case s.lock <- struct{}{}:
		return func() { <-s.lock }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// scope is what was declared in a package; an empty one where nothing was.
func (s *session) scope(pkg string) *scope {
	if found := s.packages[pkg]; found != nil {
		return found
	}
	return &scope{imports: map[string]string{}}
}

// hasRoom reports whether a scope can be kept.
func (s *session) hasRoom(pkg string, next *scope) bool {
	size := next.size()
	for name, other := range s.packages {
		if name != pkg {
			size += other.size()
		}
	}
	return size <= maxKept && (s.packages[pkg] != nil || len(s.packages) < maxScopes)
}

func (c *scope) size() (n int) {
	for _, u := range c.units {
		n += len(u.text) + 64*(len(u.names)+len(u.imports)+1)
	}
	for name, path := range c.imports {
		n += len(name) + len(path)
	}
	for _, path := range c.blank {
		n += len(path)
	}
	return n
}

// remember adds a line to the history and drops the oldest that there is no room for.
func (s *session) remember(e entry) {
	e.Form, e.Result = cut(e.Form, maxEntryForm), cut(e.Result, maxEntryText)
	s.history = append(s.history, e)
	size := 0
	for i, e := range slices.Backward(s.history) {
		size += len(e.Form) + len(e.Result) + len(e.Package)
		if size > maxRemembered || len(s.history)-i > maxHistory {
			s.history = slices.Clone(s.history[i+1:])
			return
		}
	}
}

func (s *session) fail(f failure) {
	f.Form, f.Message, f.Stack = cut(f.Form, maxEntryForm), cut(f.Message, maxMessage), cut(f.Stack, maxStack)
	s.last = &f
}

func stampTime(t time.Time) string { return t.UTC().Format(time.RFC3339) }
