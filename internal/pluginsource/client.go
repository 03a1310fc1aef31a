package pluginsource

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"syscall"
	"time"

	"oras.land/oras-go/v2/registry/remote/retry"

	"github.com/toolhost/toolhost/internal/egress"
	"github.com/toolhost/toolhost/internal/loopback"
	"github.com/toolhost/toolhost/internal/sanitize"
)

// Times after which a server is given up on. One that is slow is waited for as long as bytes
// come.
const (
	connectTime = 10 * time.Second
	headerTime  = 30 * time.Second
	stallTime   = 30 * time.Second
)

// maxRedirects is how many redirects are followed.
const maxRedirects = 5

// errStalled is the cause if a server sent nothing for too long.
var errStalled = errors.New("the server sent nothing for too long")

// reach is how near to this machine an address is. A server that the operator named may send us
// to others, and to none that is nearer: what is near trusts this machine.
type reach int

const (
	unknown reach = iota
	public
	private
	special // at which clouds serve credentials, among others
	here    // loopback
)

func reachOf(ip netip.Addr) reach {
	ip = egress.Real(ip)
	switch {
	case ip.IsLoopback(), ip.IsUnspecified():
		return here
	case ip.IsPrivate(), shared.Contains(ip):
		return private
	case !egress.Public(ip):
		return special
	}
	return public
}

// shared is for the networks of providers (RFC 6598).
var shared = netip.MustParsePrefix("100.64.0.0/10")

// reachOfHost goes by a name or address alone.
func reachOfHost(host string) reach {
	if loopback.Is(host) || strings.HasSuffix(strings.ToLower(host), ".localhost") {
		return here
	}
	if ip, err := netip.ParseAddr(host); err == nil {
		return reachOf(ip)
	}
	return unknown
}

// guard is the transport of one source. It decides which servers are asked, what they learn,
// and how long they are waited for.
type guard struct {
	origin string // host and port of the server that the operator named
	next   http.RoundTripper
	stall  time.Duration

	mu      sync.Mutex
	near    reach // of the origin
	proxies map[string]bool
}

// newClient returns a client for the server of a URL.
func newClient(u *url.URL) *http.Client {
	g := &guard{origin: hostPort(u), stall: stallTime, near: reachOfHost(u.Hostname()), proxies: map[string]bool{}}
	g.next = &retry.Transport{
		Base: &http.Transport{
			Proxy: g.proxy, DialContext: g.dial, ForceAttemptHTTP2: true, DisableCompression: true,
			TLSHandshakeTimeout: connectTime, ResponseHeaderTimeout: headerTime, MaxResponseHeaderBytes: 64 << 10,
			IdleConnTimeout: headerTime,
		},
		Policy: func() retry.Policy {
			return &retry.GenericPolicy{
				Retryable: retry.DefaultPredicate, Backoff: retry.DefaultBackoff,
				MinWait: 200 * time.Millisecond, MaxWait: 3 * time.Second, MaxRetry: 3,
			}
		},
	}
	return &http.Client{Transport: g, CheckRedirect: redirect}
}

func hostPort(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80"}[u.Scheme]
	}
	if port == "" {
		port = "443"
	}
	return net.JoinHostPort(strings.ToLower(u.Hostname()), port)
}

// redirect bounds how many redirects are followed, and keeps credentials from other servers: ports
// count too.
func redirect(req *http.Request, via []*http.Request) error {
	if len(via) > maxRedirects {
		return &refusedError{fmt.Sprintf("%s redirects more than %d times", via[0].URL.Host, maxRedirects)}
	}
	if hostPort(req.URL) != hostPort(via[0].URL) {
		for _, name := range []string{"Authorization", "Cookie", "Www-Authenticate", "Proxy-Authorization"} {
			req.Header.Del(name)
		}
	}
	return nil
}

// refusedError says why a server is not asked. Trying again does not help.
type refusedError struct{ text string }

func (e *refusedError) Error() string { return e.text }

// RoundTrip implements [http.RoundTripper].
func (g *guard) RoundTrip(req *http.Request) (*http.Response, error) {
	at := sanitize.Quote(req.URL.Host, 200)
	foreign := hostPort(req.URL) != g.origin
	switch {
	case req.URL.Scheme != "https" && (req.URL.Scheme != "http" || !loopback.Is(req.URL.Hostname())):
		return nil, &refusedError{fmt.Sprintf("%s leads to %s by %s, and only https is followed", g.origin, at, sanitize.Quote(req.URL.Scheme, 20))}
	case foreign && !g.mayReach(reachOfHost(req.URL.Hostname())):
		return nil, g.tooNear(req.URL.Host)
	}
	ctx, cancel := context.WithCancelCause(req.Context())
	watch := time.AfterFunc(g.stall+connectTime+headerTime, func() { cancel(errStalled) })
	resp, err := g.next.RoundTrip(req.WithContext(ctx))
	if err != nil {
		watch.Stop()
		if cause := context.Cause(ctx); errors.Is(cause, errStalled) {
			err = fmt.Errorf("%s: %w", at, cause)
		}
		cancel(nil)
		return nil, err
	}
	if foreign { // its demand would be answered with credentials for the origin
		resp.Header.Del("Www-Authenticate")
	}
	watch.Reset(g.stall)
	resp.Body = &watched{ReadCloser: resp.Body, ctx: ctx, cancel: cancel, timer: watch, limit: g.stall, host: at}
	return resp, nil
}

// watched is a body that ends with an error if nothing comes for too long.
type watched struct {
	io.ReadCloser
	ctx    context.Context
	cancel context.CancelCauseFunc
	timer  *time.Timer
	limit  time.Duration
	host   string
}

func (w *watched) Read(p []byte) (int, error) {
	w.timer.Reset(w.limit)
	n, err := w.ReadCloser.Read(p)
	w.timer.Stop() // who reads may take its time
	if err != nil && !errors.Is(err, io.EOF) && errors.Is(context.Cause(w.ctx), errStalled) {
		err = fmt.Errorf("%s: %w", w.host, errStalled)
	}
	return n, err
}

func (w *watched) Close() error {
	w.timer.Stop()
	err := w.ReadCloser.Close()
	w.cancel(nil)
	return err
}

// proxy is the environment's, and is noted, so that it may be connected to wherever it is.
func (g *guard) proxy(req *http.Request) (*url.URL, error) {
	u, err := http.ProxyFromEnvironment(req)
	if u != nil {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.proxies[hostPort(u)] = true
	}
	return u, err
}

// dial connects to a server once the addresses of its name are known.
func (g *guard) dial(ctx context.Context, network, address string) (net.Conn, error) {
	d := net.Dialer{Timeout: connectTime, Control: func(_, resolved string, _ syscall.RawConn) error {
		at, err := netip.ParseAddrPort(resolved)
		if err != nil {
			return err
		}
		return g.check(strings.ToLower(address), at.Addr())
	}}
	return d.DialContext(ctx, network, address)
}

func (g *guard) check(address string, ip netip.Addr) error {
	g.mu.Lock()
	switch {
	case g.proxies[address]:
		g.mu.Unlock()
		return nil
	case address == g.origin && g.near == unknown:
		g.near = reachOf(ip)
	}
	g.mu.Unlock()
	if !g.mayReach(reachOf(ip)) {
		return g.tooNear(address)
	}
	return nil
}

// mayReach reports whether the origin may lead to what is so near.
func (g *guard) mayReach(r reach) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return r <= max(g.near, public)
}

func (g *guard) tooNear(address string) error {
	return &refusedError{fmt.Sprintf("%s leads to %s, which is this machine or its own network, and is not asked", g.origin, sanitize.Quote(address, 200))}
}
