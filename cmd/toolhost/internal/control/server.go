package control

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Limits of a server. A client that says nothing, or nonsense, holds little of it, and
// not for long.
const (
	// MaxConnections are open at a time.
	MaxConnections = 256
	// What holds a connection for long leaves some for everything else: calls under way,
	// calls that wait for an answer, of all callers and of one process, and other work.
	maxCalls       = 128
	maxWaiting     = 64
	maxWaitingOf   = 16
	maxWork        = 16
	maxHeader      = 64 << 10
	headerTimeout  = 5 * time.Second
	bodyTimeout    = 30 * time.Second
	idleTimeout    = 5 * time.Second
	endTimeout     = 2 * time.Second // for what is under way when all is to end
	connectTimeout = 2 * time.Second
)

// Service is what a daemon does for commands.
type Service interface {
	// State is the daemon's; what the server knows itself is filled in.
	State() State
	Tools(host.Filter) []host.Tool
	Get(name string) (host.Tool, bool)
	// Call runs a call as a caller of its own. The approver is nil where nobody can be
	// asked.
	Call(context.Context, Call, policy.Approver) Answer
	RestartPlugin(ctx context.Context, name string) error
	// ApplyPlugin has a plugin run as it is now: as its operator, its settings and its
	// file say.
	ApplyPlugin(ctx context.Context, name string) error
	Reload(context.Context) error
}

// Server is the daemon's end.
type Server struct {
	service Service
	http    http.Server
	// What callers hold together.
	arguments, answers *budget

	work chan struct{} // has room for what is done besides calls

	mu       sync.Mutex
	calls    map[string]*running
	waiting  map[*running]bool // those that wait for an answer
	silent   map[net.Conn]bool // connections that have asked nothing yet
	draining bool
	idle     chan struct{} // closed when the server drains and no call is left
}

// NewServer makes a server that logs what goes wrong.
func NewServer(s Service, log hclog.Logger) *Server {
	out := &Server{service: s, calls: map[string]*running{}, silent: map[net.Conn]bool{}, idle: make(chan struct{}),
		waiting: map[*running]bool{}, work: make(chan struct{}, maxWork), arguments: newBudget(maxHeldArguments), answers: newBudget(maxHeldAnswers)}
	out.http = http.Server{
		Handler: guarded(out.routes()), ConnContext: withConnection, ReadHeaderTimeout: headerTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeader,
		ErrorLog: log.StandardLogger(&hclog.StandardLoggerOptions{ForceLevel: hclog.Warn}), ConnState: out.note,
	}
	return out
}

// Serve answers until Shutdown.
func (s *Server) Serve(ln net.Listener) error {
	if err := s.http.Serve(ln); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// Shutdown takes no more calls, lets those under way end until ctx does, ends the
// others, and closes everything. It takes at most a few seconds more than ctx.
func (s *Server) Shutdown(ctx context.Context) {
	s.drain()
	select {
	case <-s.idle:
	case <-ctx.Done():
		s.endCalls()
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTimeout)
	defer cancel()
	select {
	case <-s.idle:
	case <-ctx.Done():
	}
	s.hangUp()
	if s.http.Shutdown(ctx) != nil {
		_ = s.http.Close()
	}
}

func (s *Server) drain() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.draining = true
	if len(s.calls) == 0 {
		close(s.idle)
	}
}

func (s *Server) endCalls() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.calls {
		r.cancel(errEnding)
	}
}

// hangUp closes connections that never asked anything: a shutdown would wait for them.
func (s *Server) hangUp() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for conn := range s.silent {
		_ = conn.Close()
	}
}

func (s *Server) note(conn net.Conn, state http.ConnState) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if state == http.StateNew {
		s.silent[conn] = true
	} else {
		delete(s.silent, conn)
	}
}

// begin lets a call in.
func (s *Server) begin(r *running) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.draining:
		return &tool.Error{Code: tool.CodeUnavailable, Message: "the daemon is ending, and takes no more calls", Hint: "use --no-daemon, or try again when it is back"}
	case len(s.calls)-len(s.waiting) >= maxCalls:
		return &tool.Error{Code: tool.CodeResourceExhausted, Message: "the daemon has too many calls under way", Hint: "try again later"}
	}
	s.calls[r.id] = r
	return nil
}

// beginWaiting lets a call wait for an answer. It is not one of those under way as long as
// it does: people who do not answer keep nobody else from calling safe tools.
func (s *Server) beginWaiting(r *running) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	same := 0
	for other := range s.waiting {
		if other.caller == r.caller {
			same++
		}
	}
	switch {
	case len(s.waiting) >= maxWaiting:
		return &tool.Error{
			Code: tool.CodeResourceExhausted, Message: fmt.Sprintf("%d questions wait for an answer already", len(s.waiting)), Hint: "answer them first",
		}
	case r.caller != 0 && same >= maxWaitingOf:
		return &tool.Error{
			Code: tool.CodeResourceExhausted, Message: fmt.Sprintf("%d questions to process %d wait for an answer already", same, r.caller),
			Hint: "answer them first",
		}
	}
	s.waiting[r] = true
	return nil
}

func (s *Server) endWaiting(r *running) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.waiting, r)
}

func (s *Server) end(r *running) {
	r.cancel(nil)
	s.mu.Lock()
	defer s.mu.Unlock()
	if delete(s.calls, r.id); s.draining && len(s.calls) == 0 {
		close(s.idle)
	}
}

func (s *Server) running(id string) (*running, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.calls[id]; r != nil {
		return r, nil
	}
	return nil, tool.Errorf(tool.CodeUnavailable, "there is no such call under way")
}
