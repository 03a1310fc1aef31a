package egress

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/toolhost/toolhost/internal/address"
	"github.com/toolhost/toolhost/internal/grant"
)

// failure is why there is no connection, as each protocol says it.
type failure struct {
	status int  // HTTP's
	reply  byte // SOCKS5's
	text   string
}

// connect connects to t if the list has it. What is refused and what fails is reported.
func (p *Proxy) connect(ctx context.Context, t target) (net.Conn, *failure) {
	ctx, cancel := context.WithTimeout(ctx, connectTime)
	defer cancel()
	if !p.allows(t) {
		return nil, p.refuse(t, "; the operator can add it to net")
	}
	addrs, err := p.resolve(ctx, t)
	if err != nil {
		return nil, p.fail(t, fmt.Sprintf("%s cannot be resolved", t.name), err)
	}
	if !slices.ContainsFunc(addrs, func(a netip.Addr) bool { return p.permits(t, a) }) {
		more := fmt.Sprintf(": the name leads to %s, %s", addrs[0], address.KindHere(addrs[0]))
		there := grant.Hosts{Addr: addrs[0], Port: t.port}
		if _, err := ParsePattern(there.String()); err == nil {
			more += fmt.Sprintf("; the operator can add %s to net", there)
		}
		return nil, p.refuse(t, more)
	}
	conn, err := p.dialFirst(ctx, t, addrs)
	if err != nil {
		return nil, p.fail(t, "there is no connection to "+t.String(), err)
	}
	p.report(Connected, t.String(), "")
	return conn, nil
}

// loopback4 is localhost.
var loopback4 = netip.AddrFrom4([4]byte{127, 0, 0, 1})

func (p *Proxy) allows(t target) bool {
	return p.opts.All || slices.ContainsFunc(p.patterns, func(pattern Pattern) bool { return pattern.matches(t) })
}

// permits reports whether a name that is allowed may lead to a. The names' owners decide where
// they lead, so that only the public Internet, or what the list has itself, can be meant.
func (p *Proxy) permits(t target, a netip.Addr) bool {
	return address.KindHere(a) == "" || t.name == "localhost" && a.IsLoopback() || p.allows(target{host{addr: a}, t.port})
}

// resolve returns one address at least, without an error.
func (p *Proxy) resolve(ctx context.Context, t target) ([]netip.Addr, error) {
	switch t.name {
	case "":
		return []netip.Addr{t.addr}, nil
	case "localhost": // RFC 6761: never a name server's to say
		return []netip.Addr{loopback4, netip.IPv6Loopback()}, nil
	}
	addrs, err := p.opts.Lookup(ctx, t.name)
	if err == nil && len(addrs) == 0 {
		err = &net.DNSError{IsNotFound: true}
	}
	for i := range addrs {
		addrs[i] = addrs[i].Unmap()
	}
	return addrs, err
}

// dialFirst dials those addresses that are permitted, one after the other. Each has its part
// of the time that is left.
func (p *Proxy) dialFirst(ctx context.Context, t target, addrs []netip.Addr) (net.Conn, error) {
	addrs = slices.DeleteFunc(addrs, func(a netip.Addr) bool { return !p.permits(t, a) })
	var first error
	for i, a := range addrs {
		deadline, _ := ctx.Deadline()
		part, cancel := context.WithTimeout(ctx, max(time.Until(deadline)/time.Duration(len(addrs)-i), 2*time.Second))
		conn, err := p.opts.Dial(part, netip.AddrPortFrom(a, t.port))
		cancel()
		if err == nil {
			return conn, nil
		}
		if first == nil {
			first = err
		}
		if ctx.Err() != nil {
			break
		}
	}
	return nil, first
}

// refuse makes and reports the failure of what the sandbox does not allow.
func (p *Proxy) refuse(t target, more string) *failure {
	text := fmt.Sprintf("the sandbox of plugin %s does not allow connections to %s%s", p.opts.Plugin, t, more)
	p.report(Refused, t.String(), text)
	return &failure{http.StatusForbidden, socksNotAllowed, text}
}

// fail makes and reports the failure of what is allowed. Its text leaves out what err says of
// the host: its own addresses, and those of its name servers.
func (p *Proxy) fail(t target, text string, err error) *failure {
	f := &failure{status: http.StatusBadGateway, reply: socksFailed}
	var errno syscall.Errno
	var dns *net.DNSError
	var timeout interface{ Timeout() bool }
	switch {
	case errors.As(err, &timeout) && timeout.Timeout():
		f.status, f.reply, text = http.StatusGatewayTimeout, socksExpired, text+" in time"
	case errors.As(err, &dns) && dns.IsNotFound:
		f.reply, text = socksHostUnreachable, text+": there is no such name"
	case errors.As(err, &dns):
		f.reply, text = socksHostUnreachable, text+": the name server has failed"
	case errors.As(err, &errno):
		f.reply, text = replyOf(errno), text+": "+errno.Error()
	}
	f.text = text
	p.report(Failed, t.String(), text)
	return f
}

func replyOf(errno syscall.Errno) byte {
	switch errno {
	case syscall.ECONNREFUSED:
		return socksConnRefused
	case syscall.ENETUNREACH:
		return socksNetUnreachable
	case syscall.EHOSTUNREACH:
		return socksHostUnreachable
	}
	return socksFailed
}

// lookup asks the host's name servers by Go's own resolver, which ends when ctx does. A dot at
// the end keeps search domains out: they would make one name another.
func lookup(ctx context.Context, name string) ([]netip.Addr, error) {
	if strings.Contains(name, ".") {
		name += "."
	}
	return (&net.Resolver{PreferGo: true}).LookupNetIP(ctx, "ip", name)
}

func dial(ctx context.Context, addr netip.AddrPort) (net.Conn, error) {
	return (&net.Dialer{}).DialContext(ctx, "tcp", addr.String())
}
