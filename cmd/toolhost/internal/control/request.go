package control

import (
	"context"
	"io"
	"net/http"
	"slices"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"

	"github.com/toolhost/toolhost/pluginsdk/tool"
	daemonv1 "github.com/toolhost/toolhost/proto/toolhost/daemon/v1"
)

// Caller is who sends a request, as the daemon knows it: by the user at the other end of the
// socket.
type Caller struct {
	Name string
	// Operator reports whether the caller may also manage plugins and the daemon.
	Operator bool
}

// request is what the server knows of a request besides its message.
type request struct {
	caller  Caller
	peer    peer
	person  string      // who opened the page of the console that it comes from; empty: it comes from none
	conn    *connection // nil: it comes from this process
	release []func()    // what it holds; called in the end
}

type requestKey struct{}

// requestOf returns the request of a context.
func requestOf(ctx context.Context) *request {
	if r, ok := ctx.Value(requestKey{}).(*request); ok {
		return r
	}
	return &request{}
}

// CallerOf returns who sent the request of a context.
func CallerOf(ctx context.Context) Caller { return requestOf(ctx).caller }

// hold reserves memory until the request ends.
func (r *request) hold(ctx context.Context, s *Server, bytes int, what string) error {
	release, err := reserve(s.answers, CallerOf(ctx), bytes, what)
	r.release = append(r.release, release)
	if bytes > largeAnswer {
		r.release = append(r.release, returnMemory)
	}
	return err
}

// How long a reader may keep a piece of an answer waiting, and how fast it must at least read, in bytes
// per second.
const (
	writeTimeout = 30 * time.Second
	slowestRead  = 1 << 20
)

// ServeHTTP finds out who sends a request, and bounds what it costs, before it is read.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	req := &request{conn: connectionOf(r), peer: peerOfRequest(r)}
	req.conn.owes(false)
	defer req.conn.owes(true)
	err := req.conn.refused()
	if err == nil {
		req.caller, err = s.callerAt(req.peer)
	}
	if err == nil {
		err = admit(req.caller, r.URL.Path)
	}
	if err == nil && !slices.Contains(early, r.URL.Path) {
		err = s.awaitReady(r.Context())
	}
	s.serve(w, r, req, err)
}

// early are the paths of what is answered before the daemon is ready: how it is, what it says and asks, and its end. Calls
// and lists wait themselves, for the tool that they name.
var early = []string{
	daemonv1.DaemonGetStateProcedure, daemonv1.DaemonStopProcedure, daemonv1.DaemonWatchProcedure,
	daemonv1.DaemonListApprovalsProcedure, daemonv1.DaemonGetApprovalProcedure, daemonv1.DaemonDecideApprovalProcedure,
	daemonv1.DaemonFollowApprovalsProcedure, daemonv1.DaemonCallProcedure, daemonv1.DaemonCancelCallProcedure,
	daemonv1.DaemonListToolsProcedure, doorPath, "/metrics",
}

// awaitReady waits until the daemon is ready.
func (s *Server) awaitReady(ctx context.Context) error {
	if s.Ready == nil {
		return nil
	}
	select {
	case <-s.Ready:
		return nil
	case <-s.ending:
		return errEnds()
	case <-ctx.Done():
		return ctx.Err()
	}
}

// serve answers a request, or with the error if it is not admitted.
func (s *Server) serve(w http.ResponseWriter, r *http.Request, req *request, err error) {
	ctx := context.WithValue(r.Context(), requestKey{}, req)
	body := &timedBody{ReadCloser: http.MaxBytesReader(w, r.Body, maxRequest), ctl: http.NewResponseController(w), conn: req.conn}
	unread := int64(smallEnough) // the client reads the answer once it has sent everything
	size := int(min(r.ContentLength, MaxArguments))
	if size < 0 { // the client does not say
		size = MaxArguments
	}
	release := func() {}
	if err == nil {
		unread = maxRequest
		release, err = reserve(s.arguments, req.caller, size, "the request")
	}
	defer release()
	if err != nil {
		_, _ = io.CopyN(io.Discard, body, unread)
		_ = s.errors.Write(w, r, refusal(err))
		return
	}
	r.Body = body
	defer func() {
		for _, f := range slices.Backward(req.release) {
			f()
		}
	}()
	s.mux.ServeHTTP(pacedWriter{w, body.ctl}, r.WithContext(ctx))
}

func (s *Server) callerAt(who peer) (Caller, error) {
	if c, ok := s.service.Caller(who.uid); ok {
		return c, nil
	}
	return Caller{}, tool.Errorf(tool.CodePermissionDenied, "user %d is not a caller of this daemon", who.uid).
		Try("name the user under callers in the daemon's configuration, with uid")
}

// timedBody bounds how long a body may take to arrive.
type timedBody struct {
	io.ReadCloser
	ctl   *http.ResponseController
	conn  *connection
	begun bool
}

// Read implements [io.Reader].
func (b *timedBody) Read(p []byte) (int, error) {
	if !b.begun {
		b.begun = true
		b.conn.owes(true)
		_ = b.ctl.SetReadDeadline(time.Now().Add(bodyTimeout))
	}
	n, err := b.ReadCloser.Read(p)
	if err != nil { // such as the end
		b.conn.owes(false)
		_ = b.ctl.SetReadDeadline(time.Time{})
	}
	return n, err
}

// pacedWriter bounds how long each piece of an answer may take to be read.
type pacedWriter struct {
	http.ResponseWriter
	ctl *http.ResponseController
}

// Write implements [io.Writer].
func (w pacedWriter) Write(p []byte) (int, error) {
	_ = w.ctl.SetWriteDeadline(time.Now().Add(writeTimeout + time.Duration(len(p)/slowestRead)*time.Second))
	return w.ResponseWriter.Write(p)
}

// Flush implements [http.Flusher].
func (w pacedWriter) Flush() { _ = w.ctl.Flush() }

// Unwrap is what [http.ResponseController] looks for.
func (w pacedWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// everyone are the calls that every caller may send; the others are the operator's.
var everyone = []string{
	daemonv1.DaemonGetStateProcedure, daemonv1.DaemonListToolsProcedure, daemonv1.DaemonCallProcedure,
	daemonv1.DaemonCancelCallProcedure, daemonv1.DaemonPreviewCallProcedure, daemonv1.DaemonDecideCallProcedure,
	daemonv1.DaemonAnswerCallProcedure, daemonv1.DaemonListSessionsProcedure, daemonv1.DaemonEndSessionProcedure,
	daemonv1.DaemonListDurableCallsProcedure, daemonv1.DaemonGetDurableCallProcedure, daemonv1.DaemonWaitDurableCallProcedure,
	daemonv1.DaemonCancelDurableCallProcedure, doorPath,
}

// admit refuses what is not for the caller, before it is read.
func admit(c Caller, path string) error {
	if !c.Operator && !slices.Contains(everyone, path) {
		return tool.Errorf(tool.CodePermissionDenied,
			"the caller %s may call tools, and not manage the daemon", c.Name).Try("ask the user who runs the daemon")
	}
	return nil
}

// short are the calls that do not count as work besides calls: they take no time, or wait for a person.
var short = []string{
	daemonv1.DaemonGetStateProcedure, daemonv1.DaemonListToolsProcedure, daemonv1.DaemonCancelCallProcedure,
	daemonv1.DaemonDecideCallProcedure, daemonv1.DaemonAnswerCallProcedure, daemonv1.DaemonListApprovalsProcedure,
	daemonv1.DaemonGetApprovalProcedure, daemonv1.DaemonDecideApprovalProcedure, daemonv1.DaemonAskProcedure,
	daemonv1.DaemonListSessionsProcedure, daemonv1.DaemonEndSessionProcedure, daemonv1.DaemonStopProcedure,
	daemonv1.DaemonListWaitingProcedure, daemonv1.DaemonListFleetHostsProcedure, daemonv1.DaemonListFleetToolsProcedure,
	daemonv1.DaemonWaitDurableCallProcedure, daemonv1.DaemonOpenConsoleProcedure, daemonv1.DaemonCloseConsoleProcedure,
}

// unary bounds the work and the answers of calls without a stream, and sends their errors in full.
func (s *Server) unary(next connect.UnaryFunc) connect.UnaryFunc {
	return func(ctx context.Context, r connect.AnyRequest) (connect.AnyResponse, error) {
		req := requestOf(ctx)
		if !slices.Contains(short, r.Spec().Procedure) {
			end, err := s.beginWork(req.caller)
			if err != nil {
				return nil, refusal(err)
			}
			defer end()
		}
		res, err := next(ctx, r)
		if err != nil {
			return nil, refusal(err)
		}
		if m, ok := res.Any().(proto.Message); ok {
			if err := req.hold(ctx, s, proto.Size(m), "the reply"); err != nil {
				return nil, refusal(err)
			}
		}
		req.conn.owes(true) // to read it
		return res, nil
	}
}

// beginReading admits a client that reads what has no end, until end is called.
func (s *Server) beginReading() (end func(), err error) {
	select {
	case s.readers <- struct{}{}:
		return func() { <-s.readers }, nil
	default:
		return nil, tool.Errorf(tool.CodeResourceExhausted, "%d clients read already", maxReaders).Try("end one of them")
	}
}

// beginWork admits a request that may take long and is not a call, until end is called.
func (s *Server) beginWork(by Caller) (end func(), err error) {
	if _, _, ok := s.work.Take(by.Name, 1); !ok {
		return nil, tool.Errorf(tool.CodeResourceExhausted, "the daemon has too much to do besides calls").
			Try("try again later")
	}
	return func() { s.work.Give(by.Name, 1) }, nil
}

// numbers bounds how many read numbers and profiles at a time.
func (s *Server) numbers(next http.Handler) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		end, err := s.beginWork(CallerOf(r.Context()))
		if err != nil {
			_ = s.errors.Write(w, r, refusal(err))
			return
		}
		defer end()
		next.ServeHTTP(w, r)
	}
}
