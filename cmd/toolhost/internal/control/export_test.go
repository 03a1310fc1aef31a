package control

import (
	"context"
	"net"
	"net/http"
	"time"
)

// RevisionOf is what [Revision] returns for a build.
var RevisionOf = revisionOf

// Patient has a server wait for clients longer than a test takes, so that one that does not have to wait
// is told from one that does without a clock.
func (s *Server) Patient() {
	s.http.ReadHeaderTimeout, s.endTimeout = time.Hour, time.Hour
	h := s.http.Handler
	s.http.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { h.ServeHTTP(unbounded{w}, r) })
}

// unbounded is a ResponseWriter for which time-outs do not hold.
type unbounded struct{ http.ResponseWriter }

func (unbounded) SetReadDeadline(time.Time) error  { return nil }
func (unbounded) SetWriteDeadline(time.Time) error { return nil }

// Unwrap is what [http.ResponseController] looks for.
func (u unbounded) Unwrap() http.ResponseWriter { return u.ResponseWriter }

// Narrow has a server's connections take few bytes that are not read.
func (s *Server) Narrow() {
	s.http.ConnContext = func(ctx context.Context, conn net.Conn) context.Context {
		_ = conn.(*connection).Conn.(*net.UnixConn).SetWriteBuffer(0) // the least that the system has
		return withConnection(ctx, conn)
	}
}
