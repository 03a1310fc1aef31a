package egress

import (
	"errors"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/idna"

	"github.com/toolhost/toolhost/internal/grant"
)

// host is a name or an address in the one form in which it is compared, resolved and dialed:
// a name in lower case and punycode without the dot at its end, or an address that is not
// an IPv4 address inside an IPv6 one. Exactly one of the two is set.
type host struct {
	name string
	addr netip.Addr
}

// target is what a connection is asked for.
type target struct {
	host
	port uint16
}

func (h host) String() string {
	if h.name != "" {
		return h.name
	}
	return h.addr.String()
}

func (t target) String() string {
	return net.JoinHostPort(t.host.String(), strconv.Itoa(int(t.port)))
}

// parseTarget reads host:port as a client sends it.
func parseTarget(s string) (target, error) {
	h, p, err := net.SplitHostPort(s)
	if err != nil {
		return target{}, errors.New("it is not host:port")
	}
	if strings.HasPrefix(s, "[") != strings.Contains(h, ":") {
		return target{}, errors.New("brackets are for IPv6 addresses, and only for those")
	}
	port, err := grant.ParsePort(p)
	if err != nil {
		return target{}, err
	}
	parsed, err := parseHost(h)
	return target{parsed, port}, err
}

// parseHost reads a name or an address without brackets. What a resolver could read
// differently from this function is an error: a check of one host and a connection to
// another begins there.
func parseHost(s string) (host, error) {
	if strings.Contains(s, ":") {
		addr, err := netip.ParseAddr(s)
		if err != nil {
			return host{}, errors.New("it is not an IPv6 address")
		}
		if addr.Zone() != "" {
			return host{}, errors.New("addresses have no zone here")
		}
		return host{addr: addr.Unmap()}, nil
	}
	if len(s) > 1024 {
		return host{}, errors.New("a name has at most 253 characters")
	}
	if !ascii(s) {
		valid := utf8.ValidString(s)
		var err error
		if s, err = idna.Lookup.ToASCII(s); err != nil || !valid {
			return host{}, errors.New("it is not an internationalized domain name")
		}
	}
	s = strings.TrimSuffix(s, ".")
	if addr, err := netip.ParseAddr(s); err == nil {
		return host{addr: addr}, nil
	}
	s = strings.ToLower(s)
	if err := grant.CheckName(s); err != nil {
		return host{}, err
	}
	return host{name: s}, nil
}

func ascii(s string) bool {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}
