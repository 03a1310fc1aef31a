// Package mcphttp lets MCP clients in by HTTP: it listens, and decides whose requests reach the
// server of the tools. Begin with [Listen] and [New].
//
// A request passes, in this order, the bound on connections, the checks of Host and Origin, that
// of its token, the bound on its caller's requests, and the bound on its size.
package mcphttp

import (
	"context"
	"crypto/tls"
	"errors"
	"log"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/config"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/crowd"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/token"
	"github.com/toolhost/toolhost/internal/share"
)

// Path is where the server answers MCP clients.
const Path = "/mcp"

// Bounds that are not settings.
const (
	headerTime = 10 * time.Second // for TLS and the header of a request
	bodyTime   = 2 * time.Minute
	idleTime   = 2 * time.Minute // between two requests of a connection
	maxHeader  = 32 << 10
	maxStreams = 100 // requests at a time on a connection of HTTP/2
	// sweepTime is how long a request may go on after its token was revoked.
	sweepTime = time.Second
	// readTime is what clients have at the end for reading the last answers, which come by other
	// connections than news.
	readTime = time.Second
)

// Options are what a server goes by.
type Options struct {
	// Settings returns those in effect.
	Settings func() config.MCP
	// CallerOf returns the caller that a subject of the issuer is.
	CallerOf func(subject string) (name string, ok bool)
	Tokens   *token.Checker
	// Refused is told of each request that was turned away: of a caller, empty if it has none, by a tool's
	// name as the request says it, and why, with a word for the reason.
	Refused func(caller, tool, reason string, why error)
	// Counting wraps what answers all requests. Nil: nothing does.
	Counting func(http.Handler) http.Handler
	// Login is told of a caller's first request with a token, by its ID or subject, in an hour, and once a
	// minute and reason of the requests whose tokens do not count: from where the last came, and how many.
	Login func(caller, token, from string, requests int, why error)
	Log   hclog.Logger
}

// Server answers MCP clients.
type Server struct {
	options  Options
	http     *http.Server
	cert     *certificate              // nil: no TLS
	failures share.Paces[netip.Prefix] // of wrong tokens, by address
	nameless nameless
	logins   logins
	issuers  issuers
	requests requests
	// mcp answers callers; nil: the tools are not ready, or not any more.
	mcp      atomic.Pointer[http.Handler]
	listener atomic.Pointer[crowd.Listener]
	ending   atomic.Bool
	sweep    chan struct{} // closed at the end
	tasks    sync.WaitGroup
}

// New returns a server that refuses callers until [Server.Ready].
//
// # Errors
//
// [*exit.Error] if the certificate cannot be used.
func New(o Options) (*Server, error) {
	s := &Server{options: o, sweep: make(chan struct{})}
	limits := o.Settings().Limits
	s.requests.most = limits.Requests
	s.http = &http.Server{
		Handler: s.handler(), ReadHeaderTimeout: headerTime, IdleTimeout: idleTime, MaxHeaderBytes: maxHeader,
		HTTP2: &http.HTTP2Config{
			MaxConcurrentStreams: maxStreams, SendPingTimeout: time.Minute, PingTimeout: 15 * time.Second,
			WriteByteTimeout: crowd.WriteTime,
		},
		ConnContext: crowd.Context,
		// What clients do wrong at the level of TLS and HTTP is of no interest by default.
		ErrorLog: log.New(o.Log.Named("http").StandardWriter(&hclog.StandardLoggerOptions{ForceLevel: hclog.Debug}), "", 0),
	}
	if files := o.Settings().TLS; files.Cert != "" {
		s.cert = &certificate{files: files, log: o.Log}
		if err := s.cert.load(); err != nil {
			return nil, err
		}
		s.http.TLSConfig = &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: s.cert.get}
	}
	return s, nil
}

// Ready sets what answers the requests of callers. The name of the caller is the UserID of the
// SDK's auth.TokenInfo.
func (s *Server) Ready(mcp http.Handler) { s.mcp.Store(&mcp) }

// Serve answers requests until [Server.Shutdown] or an error of the listener.
func (s *Server) Serve(ln net.Listener) error {
	if l, ok := ln.(*crowd.Listener); ok {
		s.listener.Store(l)
	}
	s.tasks.Go(s.lookAfter)
	var err error
	if s.cert != nil {
		err = s.http.ServeTLS(ln, "", "")
	} else {
		err = s.http.Serve(ln)
	}
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// Shutdown takes no more requests, and waits for those in progress until ctx ends, and then ends
// them. Those in which clients only wait for news end last: a client whose stream ends may give up
// its calls.
func (s *Server) Shutdown(ctx context.Context) {
	s.mcp.Store(nil)
	s.ending.Store(true)
	closed := make(chan struct{})
	var err error
	go func() {
		defer close(closed)
		err = s.http.Shutdown(ctx)
	}()
	if s.requests.await(ctx) {
		select {
		case <-closed:
		case <-time.After(readTime):
		}
	}
	s.requests.end(func(r *request) bool { return r.waits })
	if <-closed; err != nil {
		_ = s.http.Close()
	}
	close(s.sweep)
	s.tasks.Wait()
}

// lookAfter ends requests whose callers have lost their token while they were answered.
func (s *Server) lookAfter() {
	tick := time.NewTicker(sweepTime)
	defer tick.Stop()
	for {
		select {
		case <-s.sweep:
			return
		case <-tick.C:
			s.requests.end(func(r *request) bool { return !r.counts() })
			if l := s.listener.Load(); l != nil && s.ending.Load() {
				l.CloseUnused() // the end does not wait for strangers
			}
		}
	}
}
