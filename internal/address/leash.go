package address

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/net/publicsuffix"

	"github.com/toolhost/toolhost/internal/sanitize"
)

// ReachOfHost returns how near a name or address is by itself: [Unknown] for most names. What browsers
// and some resolvers take for an address, such as 127.1, is as near as can be.
func ReachOfHost(host string) Reach {
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	if ip, err := netip.ParseAddr(host); err == nil {
		return ReachOf(ip)
	}
	last := host[strings.LastIndexByte(host, '.')+1:]
	if last == "localhost" || last != "" && strings.Trim(last, "0123456789") == "" || strings.HasPrefix(last, "0x") {
		return Here
	}
	return Unknown
}

// Leash is for what a server leads to: nothing that is nearer to this machine than the server itself,
// as what is near trusts this machine. Names count by the addresses that they lead to.
type Leash struct {
	origin, name string // the server's host and port, and host

	mu      sync.Mutex
	near    Reach // the server is; Unknown: as if it were public
	proxies map[string]bool
}

// NewLeash returns the leash of the server of a URL.
func NewLeash(server *url.URL) *Leash {
	return &Leash{
		origin: HostPort(server), name: server.Hostname(),
		near: ReachOfHost(server.Hostname()), proxies: map[string]bool{},
	}
}

// HostPort returns the host and the port of a URL, in the one form in which they are compared.
func HostPort(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80"}[u.Scheme]
	}
	if port == "" {
		port = "443"
	}
	return net.JoinHostPort(strings.ToLower(u.Hostname()), port)
}

// SameSite reports whether two URLs are of one site: of names that one owner has, or of the same address
// and port.
func SameSite(a, b *url.URL) bool {
	site := func(u *url.URL) string {
		if ReachOfHost(u.Hostname()) != Unknown {
			return ""
		}
		out, _ := publicsuffix.EffectiveTLDPlusOne(strings.ToLower(u.Hostname()))
		return out
	}
	return HostPort(a) == HostPort(b) || site(a) != "" && site(a) == site(b)
}

// NearError says that a server leads to what is nearer than itself.
type NearError struct{ origin, to string }

func (e *NearError) Error() string {
	return fmt.Sprintf("%s leads to %s, which is this machine or its own network, and is not asked",
		e.origin, sanitize.Quote(e.to, 200))
}

// Resolve looks the server's name up, for those who ask others before they ask it.
func (l *Leash) Resolve(ctx context.Context) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.near == Unknown {
		l.near = Public // if it cannot be resolved here, as behind a proxy
		all, _ := net.DefaultResolver.LookupNetIP(ctx, "ip", l.name)
		for _, a := range all {
			l.near = max(l.near, ReachOf(a))
		}
	}
}

// Follow judges a URL by its host alone.
//
// # Errors
//
// [*NearError].
func (l *Leash) Follow(u *url.URL) error {
	if HostPort(u) == l.origin {
		return nil
	}
	return l.reaches(u.Host, ReachOfHost(u.Hostname()))
}

// Lead judges a URL that another program will open, by what its name leads to.
//
// # Errors
//
// [*NearError]; that of the resolver, unless the program would use a proxy.
func (l *Leash) Lead(ctx context.Context, u *url.URL) error {
	if err := l.Follow(u); err != nil {
		return err
	}
	all, err := net.DefaultResolver.LookupNetIP(ctx, "ip", u.Hostname())
	if proxy, bad := http.ProxyFromEnvironment(&http.Request{URL: u}); err != nil && (proxy == nil || bad != nil) {
		return err
	}
	for _, a := range all {
		if err := l.reaches(u.Host, ReachOf(a)); err != nil {
			return err
		}
	}
	return nil
}

// Proxy returns the proxy of the environment, to which [Leash.Dial] connects wherever it is.
func (l *Leash) Proxy(req *http.Request) (*url.URL, error) {
	u, err := http.ProxyFromEnvironment(req)
	if u != nil {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.proxies[HostPort(u)] = true
	}
	return u, err
}

// dialTime bounds a connection.
const dialTime = 10 * time.Second

// Dial connects to a server once the addresses of its name are known.
func (l *Leash) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	d := net.Dialer{Timeout: dialTime, Control: func(_, resolved string, _ syscall.RawConn) error {
		at, err := netip.ParseAddrPort(resolved)
		if err != nil {
			return err
		}
		return l.check(strings.ToLower(address), at.Addr())
	}}
	return d.DialContext(ctx, network, address)
}

func (l *Leash) check(address string, ip netip.Addr) error {
	l.mu.Lock()
	switch {
	case l.proxies[address]:
		l.mu.Unlock()
		return nil
	case address == l.origin && l.near == Unknown:
		l.near = ReachOf(ip)
	}
	l.mu.Unlock()
	return l.reaches(address, ReachOf(ip))
}

func (l *Leash) reaches(address string, r Reach) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if r > max(l.near, Public) {
		return &NearError{l.origin, address}
	}
	return nil
}
