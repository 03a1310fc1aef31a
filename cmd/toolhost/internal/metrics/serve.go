package metrics

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/pprof" //nolint:gosec // it also registers on the default mux, which nothing here serves
	"net/netip"
	"strconv"
	"time"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/crowd"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/exit"
)

// Limits of a listener.
const (
	maxConnections = 32
	headerTimeout  = 5 * time.Second
	writeTimeout   = profileLimit + 30*time.Second
	maxHeader      = 16 << 10
)

// Handler serves /metrics and, if profiles is set, /debug/pprof/.
func (n *Numbers) Handler(profiles bool) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", n.handler())
	if profiles {
		mux.HandleFunc("GET /debug/pprof/", pprof.Index)
		mux.HandleFunc("GET /debug/pprof/cmdline", pprof.Cmdline)
		mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
		mux.HandleFunc("GET /debug/pprof/profile", short(pprof.Profile))
		mux.HandleFunc("GET /debug/pprof/trace", short(pprof.Trace))
	}
	return mux
}

// short refuses profiles that take long.
func short(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		text := r.URL.Query().Get("seconds")
		seconds, err := strconv.ParseFloat(text, 64)
		if text != "" && (err != nil || !(0 < seconds && seconds <= profileLimit.Seconds())) {
			http.Error(w, fmt.Sprintf("seconds is a number up to %v", profileLimit.Seconds()), http.StatusBadRequest)
			return
		}
		next(w, r)
	}
}

// Listen opens an address for [Numbers.Serve]. It has to be a loopback address by number: what
// is served tells other machines too much, and a name could lead elsewhere.
//
// # Errors
//
// [*exit.Error] for another address, or one that cannot be opened.
func Listen(address string) (net.Listener, error) {
	at, err := netip.ParseAddrPort(address)
	if err != nil || !at.Addr().IsLoopback() {
		return nil, exit.Usage(fmt.Sprintf("metrics.address: %q is not a loopback address with a port", address), "use one such as 127.0.0.1:9464")
	}
	ln, err := net.Listen("tcp", at.String())
	if err != nil {
		return nil, exit.Usage("the address of the metrics cannot be opened: "+err.Error(), "name another under metrics.address")
	}
	return crowd.New(ln, maxConnections), nil
}

// Serve answers requests on a listener of [Listen] until ctx ends.
func (n *Numbers) Serve(ctx context.Context, ln net.Listener, profiles bool) error {
	server := http.Server{
		Handler: onlyLocal(n.Handler(profiles)), ReadHeaderTimeout: headerTimeout, ReadTimeout: headerTimeout,
		WriteTimeout: writeTimeout, IdleTimeout: time.Minute, MaxHeaderBytes: maxHeader,
		ConnContext: crowd.Context,
	}
	defer context.AfterFunc(ctx, func() { _ = server.Close() })()
	if err := server.Serve(ln); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// onlyLocal refuses what a web page makes a browser send: a name of its own that leads to this
// address (DNS rebinding) shows in Host, and a request from a page in Origin or Sec-Fetch-Site.
func onlyLocal(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		site := r.Header.Get("Sec-Fetch-Site")
		if !isLocal(r.Host) || r.Header.Get("Origin") != "" || site != "" && site != "none" && site != "same-origin" {
			http.Error(w, "only for programs on this machine, by a loopback address", http.StatusForbidden)
			return
		}
		defer crowd.Use(r.Context())() // connections without a request make room for others
		next.ServeHTTP(w, r)
	})
}

// isLocal reports whether a Host header names a loopback address, or localhost.
func isLocal(host string) bool {
	name := host
	if h, _, err := net.SplitHostPort(host); err == nil {
		name = h
	}
	if name == "localhost" {
		return true
	}
	addr, err := netip.ParseAddr(name)
	return err == nil && addr.IsLoopback()
}
