// Package egress is the only way out of a plugin's own network namespace: a proxy of the host
// that connects to what an allow-list has, and to nothing else. [ParsePattern] reads a line of
// the list, [New] makes the proxy, [Proxy.Serve] takes the connections of a listener inside the
// namespace, and [Environ] tells the plugin of it.
//
// One port speaks HTTP (CONNECT, and requests for http:// URLs) and SOCKS5 (CONNECT without
// authentication), told apart by the first byte. A connection has one request. Names are
// resolved by the host, after they were found in the list, so that a name cannot carry
// anything to a stranger's name server; what they lead to is checked, and exactly the checked
// address is dialed.
//
// What is inside a connection is the plugin's own: whether a server at an allowed name passes
// it on to another (as some content networks do by the Host header inside TLS) cannot be seen.
package egress

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"syscall"
	"time"

	"golang.org/x/time/rate"

	"github.com/toolhost/toolhost/internal/sanitize"
)

// The bounds of one plugin.
const (
	connections      = 256 // at a time; further ones are closed at once
	perSecond, burst = 200, 512
	handshakeTime    = 10 * time.Second // for the first byte, and for the request
	connectTime      = 15 * time.Second // for the name and its addresses together
	idleTime         = 15 * time.Minute // without a byte in either direction
	halfOpenTime     = 2 * time.Minute  // the same, once one side has sent everything
	headerBytes      = 64 << 10
)

// Options are the parts of a [Proxy] that can be chosen.
type Options struct {
	// Plugin is the name that the texts for clients have.
	Plugin string
	// All lets all targets pass, for a plugin of which it is recorded what it uses.
	All bool
	// Report is told what happened to connections; nil: no report. It hears of each target and
	// outcome the first time, the tenth, the hundredth and so on, is called from several
	// goroutines, and holds its connection up until it returns.
	Report func(Event)
	// Lookup resolves a name. Default: the host's DNS and /etc/hosts, without search domains
	// for names that have a dot.
	Lookup func(ctx context.Context, name string) ([]netip.Addr, error)
	// Dial connects to this address. Default: TCP, without a proxy that the host may have.
	Dial func(ctx context.Context, addr netip.AddrPort) (net.Conn, error)
}

// Proxy connects one plugin with what its allow-list has.
type Proxy struct {
	patterns []Pattern
	opts     Options
	ledger   ledger
	pace     *rate.Limiter
	ctx      context.Context // ends with Close
	cancel   context.CancelFunc

	mu        sync.Mutex
	closed    bool
	open      int
	listeners []net.Listener
	running   sync.WaitGroup // Serve and sessions
}

// New makes a proxy. Without patterns it refuses everything, and says so to its clients.
func New(patterns []Pattern, opts Options) *Proxy {
	opts.Plugin = sanitize.Line(opts.Plugin, 100)
	if opts.Lookup == nil {
		opts.Lookup = lookup
	}
	if opts.Dial == nil {
		opts.Dial = dial
	}
	if opts.Report == nil {
		opts.Report = func(Event) {}
	}
	p := &Proxy{patterns: patterns, opts: opts, pace: rate.NewLimiter(perSecond, burst)}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	return p
}

// Serve takes the connections of l, which it closes, until the proxy is closed. It may serve
// several listeners.
//
// # Errors
//
// That of l, if it fails before Close; nil after Close.
func (p *Proxy) Serve(l net.Listener) error { return p.serve(l, (*session).proxied) }

// Forward is Serve for clients that know no proxy: it connects each to localhost:port, if the list
// has it.
func (p *Proxy) Forward(l net.Listener, port uint16) error {
	return p.serve(l, func(s *session) { s.toLoopback(port) })
}

func (p *Proxy) serve(l net.Listener, each func(*session)) error {
	defer func() { _ = l.Close() }()
	if !p.enter(l) {
		return nil
	}
	defer p.running.Done()
	// The pace is for what costs the host time without a limit: connections that are opened,
	// refused and opened again. They wait in the listener's queue.
	for p.pace.Wait(p.ctx) == nil {
		conn, err := l.Accept()
		if temporary(err) {
			continue
		}
		if err != nil {
			if p.ctx.Err() != nil {
				return nil
			}
			return fmt.Errorf("the proxy of plugin %s ends: %w", p.opts.Plugin, err)
		}
		if !p.start(conn, each) {
			p.report(Refused, "", "there are too many connections at a time")
			_ = conn.Close()
		}
	}
	return nil
}

// temporary reports whether Accept can succeed later: a descriptor may become free.
func temporary(err error) bool {
	var errno syscall.Errno
	return errors.As(err, &errno) && errno.Temporary()
}

func (p *Proxy) enter(l net.Listener) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return false
	}
	p.listeners = append(p.listeners, l)
	p.running.Add(1)
	return true
}

// start gives a connection its session, unless there are too many.
func (p *Proxy) start(conn net.Conn, serve func(*session)) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || p.open == connections {
		return false
	}
	p.open++
	p.running.Go(func() {
		newSession(p, conn).run(serve)
		p.mu.Lock()
		p.open--
		p.mu.Unlock()
	})
	return true
}

// Close ends the listeners and all connections, and waits until they have ended.
func (p *Proxy) Close() {
	p.mu.Lock()
	p.closed = true
	listeners := p.listeners
	p.mu.Unlock()
	p.cancel()
	for _, l := range listeners {
		_ = l.Close()
	}
	p.running.Wait()
}
