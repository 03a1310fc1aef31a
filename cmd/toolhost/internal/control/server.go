package control

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync"
	"time"

	"connectrpc.com/connect"
	"github.com/hashicorp/go-hclog"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/activity"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/approval"
	"github.com/toolhost/toolhost/host/audit"
	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/internal/journal"
	"github.com/toolhost/toolhost/internal/share"
	"github.com/toolhost/toolhost/pluginsdk/tool"
	daemonv1 "github.com/toolhost/toolhost/proto/toolhost/daemon/v1"
)

// Limits of a server. A client that sends nothing, or nonsense, holds few resources, and not
// for long.
const (
	// MaxConnections bounds the open connections. Requests that hold one for long leave some for others.
	MaxConnections = MaxCalls + maxParked + maxWork + maxReaders + maxDoors + 32
	// MaxCalls is how many calls the host of a daemon takes at a time ([host.WithAdmission]): those over
	// the socket, of MCP clients, and of other hosts.
	MaxCalls = 1024
	// Calls that wait for approval (of all callers, and of one process), requests that only wait for a
	// durable call, other work. Callers have shares of these.
	maxWaiting     = 64
	maxParked      = 64
	maxWaitingOf   = 16
	maxWork        = 16
	maxReaders     = 16
	maxHeader      = 64 << 10
	headerTimeout  = 5 * time.Second
	bodyTimeout    = 30 * time.Second
	endTimeout     = 2 * time.Second
	connectTimeout = 15 * time.Second // for the first answer, also on a machine with much to do
	maxRequest     = MaxArguments + 1<<20
)

// Service is what commands use: a host of their own, or that of a daemon.
type Service interface {
	// Those of its calls that are about calls in progress, approvals and streams are [Server]'s.
	daemonv1.DaemonHandler
	// State returns the state, without what a server knows itself.
	State() State
	// Run runs a call in the session that it names, or else in one of its own. The approver is
	// nil if the client cannot ask.
	Run(context.Context, Caller, Call, policy.Approver) Answer
	Close(context.Context) error
}

// Daemon is a service for all callers of a server.
type Daemon interface {
	Service
	// Caller returns the caller that a user of the system is; false: the daemon does not serve
	// that user.
	Caller(uid int) (Caller, bool)
	// Approvals returns the queue of questions to the operator.
	Approvals() *approval.Queue
	// WaitDurable returns how a durable call of the fleet ends; ctx ends the wait, and not the call.
	WaitDurable(ctx context.Context, c Caller, id string) Answer
	// Journal returns what a plugin wrote or, without a name, what happened to all; nil: there is no such plugin.
	Journal(name string) *journal.Journal
	// Look returns one who looks at what the daemon does.
	Look() *activity.Watch
	// Record puts on record what someone had the daemon do, with its outcome.
	Record(r audit.Record, outcome error)
	// Numbers serves /metrics and /debug/pprof/.
	Numbers() http.Handler
}

// Server is the daemon's end.
type Server struct {
	// Door serves the MCP client of a command until it leaves. Nil: there are none.
	Door func(Caller, *Door)
	// Console lets browsers in. Nil: there are none.
	Console Console
	// Ready is closed when the daemon can do what is asked of it; what [early] does not name waits for that. Nil: it can.
	Ready <-chan struct{}

	service    Daemon
	http       http.Server
	mux        *http.ServeMux
	errors     *connect.ErrorWriter
	endTimeout time.Duration // for requests in progress at the end
	// What callers hold, in bytes.
	arguments, answers *share.Pool
	// Calls that wait for a person, requests that wait for durable calls, and requests besides calls.
	waiting, parked, work *share.Pool
	doors                 *share.Pool // MCP clients

	readers chan struct{} // has a token for each reader of a journal
	ending  chan struct{} // closed when readers have to end

	mu       sync.Mutex
	calls    map[string]*runningCall
	asking   map[int]int       // calls that wait for approval, by the process that made them
	silent   map[net.Conn]bool // connections without a request so far
	draining bool
	idle     chan struct{} // closed when the server drains and the last call has ended
}

// NewServer returns a server that logs errors.
func NewServer(s Daemon, log hclog.Logger) *Server {
	out := &Server{
		service: s, mux: http.NewServeMux(), errors: connect.NewErrorWriter(), endTimeout: endTimeout,
		arguments: share.NewPool(maxHeldArguments), answers: share.NewPool(maxHeldAnswers),
		waiting: share.NewPool(maxWaiting), parked: share.NewPool(maxParked), work: share.NewPool(maxWork),
		doors:   share.NewPool(maxDoors),
		readers: make(chan struct{}, maxReaders), ending: make(chan struct{}),
		calls: map[string]*runningCall{}, asking: map[int]int{}, silent: map[net.Conn]bool{},
		idle: make(chan struct{}),
	}
	// Without compression, which gives nothing on a machine.
	out.mux.Handle(daemonv1.NewDaemonHandler(handler{s, out}, connect.WithCompression("gzip", nil, nil),
		connect.WithInterceptors(connect.UnaryInterceptorFunc(out.unary))))
	out.mux.HandleFunc("POST "+doorPath, out.serveDoor)
	numbers := out.numbers(s.Numbers())
	out.mux.HandleFunc("GET /metrics", numbers)
	out.mux.HandleFunc("GET /debug/pprof/", numbers)
	out.http = http.Server{
		Handler: out, ConnContext: withConnection, ConnState: out.connectionChanged,
		ReadHeaderTimeout: headerTimeout, MaxHeaderBytes: maxHeader,
		ErrorLog: log.StandardLogger(&hclog.StandardLoggerOptions{ForceLevel: hclog.Warn}),
	}
	// A client that sends a request on a connection while it is closed for having been idle gets an end in place
	// of an answer, and cannot know whether its call ran. A connection of a socket costs less than that.
	out.http.SetKeepAlivesEnabled(false)
	return out
}

// Asking returns how many calls wait for a person's answer.
func (s *Server) Asking() int { return s.waiting.Used() + s.service.Approvals().Len() }

// Serve answers requests until Shutdown.
func (s *Server) Serve(ln net.Listener) error {
	if err := s.http.Serve(ln); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// Shutdown accepts no more calls, waits until ctx ends for the calls in progress, ends those
// that are left, and closes everything. It takes at most a few seconds more than ctx.
func (s *Server) Shutdown(ctx context.Context) {
	s.drain()
	select {
	case <-s.idle:
	case <-ctx.Done():
		s.endCalls()
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.endTimeout)
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

// hangUp ends readers of journals, and closes connections without a request, on which a shutdown
// would wait.
func (s *Server) hangUp() {
	close(s.ending)
	s.mu.Lock()
	defer s.mu.Unlock()
	for conn := range s.silent {
		_ = conn.Close()
	}
}

// connectionChanged tracks the connections without a request.
func (s *Server) connectionChanged(conn net.Conn, state http.ConnState) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if state == http.StateNew {
		s.silent[conn] = true
	} else {
		delete(s.silent, conn)
	}
}

// addCall adds a call, whose number its host bounds.
func (s *Server) addCall(r *runningCall) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.draining {
		return errEnds()
	}
	s.calls[r.id] = r
	return nil
}

func errEnds() error {
	return tool.Errorf(tool.CodeUnavailable, "the daemon is ending, and takes no more calls").
		Try("use --no-daemon, or try again when it is back")
}

// beginWaiting admits a call to those that wait for approval.
func (s *Server) beginWaiting(r *runningCall) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if same := s.asking[r.pid]; r.pid != 0 && same >= maxWaitingOf {
		return tool.Errorf(tool.CodeResourceExhausted, "%d questions to process %d wait for an answer already", same, r.pid).
			Try("answer them first")
	}
	if own, others, ok := s.waiting.Take(r.caller.Name, 1); !ok {
		return tool.Errorf(tool.CodeResourceExhausted,
			"%d questions wait for an answer already, %d of them of this caller", own+others, own).Try("answer them first")
	}
	s.asking[r.pid]++
	return nil
}

func (s *Server) endWaiting(r *runningCall) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waiting.Give(r.caller.Name, 1)
	if s.asking[r.pid]--; s.asking[r.pid] == 0 {
		delete(s.asking, r.pid)
	}
}

func (s *Server) removeCall(r *runningCall) {
	r.cancel(nil)
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.parked {
		s.parked.Give(r.caller.Name, 1)
	}
	if delete(s.calls, r.id); s.draining && len(s.calls) == 0 {
		close(s.idle)
	}
}

// runningCall returns the call of an ID, if it is of the caller who asks.
func (s *Server) runningCall(ctx context.Context, id string) (*runningCall, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if run := s.calls[id]; run != nil && run.caller == CallerOf(ctx) {
		return run, nil
	}
	return nil, tool.Errorf(tool.CodeNotFound, "there is no such call in progress")
}
