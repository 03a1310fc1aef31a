// Package address says what kind of address one is, and how near to this machine: for what a stranger
// names, what a plugin reaches, and what a package's server leads to.
package address

import (
	"net"
	"net/netip"
	"slices"
)

// ranges are the addresses that are not on the public Internet: the special-purpose registries of IANA
// (RFC 6890), and the addresses at which clouds serve the credentials of a machine. The first counts.
var ranges = []struct {
	prefix netip.Prefix
	kind   string
	reach  Reach
}{
	{netip.MustParsePrefix("0.0.0.0/8"), "an address of this machine", Here},
	{netip.MustParsePrefix("10.0.0.0/8"), "a private address", Private},
	{netip.MustParsePrefix("100.100.100.200/32"), "an address of a cloud's metadata", Special}, // Alibaba
	{netip.MustParsePrefix("100.64.0.0/10"), "an address inside a provider's network", Private},
	{netip.MustParsePrefix("127.0.0.0/8"), "a loopback address", Here},
	{netip.MustParsePrefix("168.63.129.16/32"), "an address of a cloud's metadata", Special}, // Azure
	{netip.MustParsePrefix("169.254.0.0/16"), "a link-local address, at which clouds serve metadata", Special},
	{netip.MustParsePrefix("172.16.0.0/12"), "a private address", Private},
	{netip.MustParsePrefix("192.0.0.0/24"), "a reserved address", Special},
	{netip.MustParsePrefix("192.0.2.0/24"), "an address for documentation", Special},
	{netip.MustParsePrefix("192.88.99.0/24"), "a relay's address", Special},
	{netip.MustParsePrefix("192.168.0.0/16"), "a private address", Private},
	{netip.MustParsePrefix("198.18.0.0/15"), "an address for benchmarks", Special},
	{netip.MustParsePrefix("198.51.100.0/24"), "an address for documentation", Special},
	{netip.MustParsePrefix("203.0.113.0/24"), "an address for documentation", Special},
	{netip.MustParsePrefix("224.0.0.0/4"), "a multicast address", Special},
	{netip.MustParsePrefix("240.0.0.0/4"), "a reserved address", Special},
	{netip.MustParsePrefix("::/128"), "an address of this machine", Here},
	{netip.MustParsePrefix("::1/128"), "a loopback address", Here},
	{netip.MustParsePrefix("fd00:ec2::254/128"), "an address of a cloud's metadata", Special}, // AWS
	{netip.MustParsePrefix("fc00::/7"), "a private address", Private},
	{netip.MustParsePrefix("fe80::/10"), "a link-local address", Special},
	{netip.MustParsePrefix("ff00::/8"), "a multicast address", Special},
	{netip.MustParsePrefix("2001::/23"), "a reserved address", Special}, // Teredo among them
	{netip.MustParsePrefix("2001:db8::/32"), "an address for documentation", Special},
	{netip.MustParsePrefix("2002::/16"), "an IPv4 address inside an IPv6 one", Special},
	{netip.MustParsePrefix("3fff::/20"), "an address for documentation", Special},
}

var (
	// nat64 is what a network without IPv4 gives names that have only IPv4 addresses
	// (RFC 6052): the last 32 bits are the address.
	nat64   = netip.MustParsePrefix("64:ff9b::/96")
	unicast = netip.MustParsePrefix("2000::/3")
)

// Reach is how near to this machine an address is.
type Reach int

// How near an address is. Unknown is that of a name.
const (
	Unknown Reach = iota
	Public
	Private
	Special // at which clouds serve credentials, among others
	Here    // this machine
)

// actual returns the IPv4 address that a connection leads to if it is inside an IPv6 one, else the
// address.
func actual(a netip.Addr) netip.Addr {
	a = a.Unmap()
	if nat64.Contains(a) {
		b := a.As16()
		a = netip.AddrFrom4([4]byte(b[12:]))
	}
	return a
}

// Kind says what kind of address one is if it is not on the public Internet, the same on each machine;
// empty: it is.
func Kind(a netip.Addr) string {
	kind, _ := look(a)
	return kind
}

// KindHere is [Kind] on this machine, whose own addresses are not on the public Internet either.
func KindHere(a netip.Addr) string {
	if kind := Kind(a); kind != "" || !own(a) {
		return kind
	}
	return "an address of this machine"
}

// ReachOf returns how near an address is.
func ReachOf(a netip.Addr) Reach {
	if own(a) {
		return Here
	}
	_, reach := look(a)
	return reach
}

func look(a netip.Addr) (string, Reach) {
	a = actual(a)
	for _, r := range ranges {
		if r.prefix.Contains(a) {
			return r.kind, r.reach
		}
	}
	if a.Is6() && (a.Zone() != "" || !unicast.Contains(a)) || !a.IsValid() {
		return "a reserved address", Special
	}
	return "", Public
}

// own reports whether an interface of this machine has the address.
func own(a netip.Addr) bool {
	a = actual(a)
	all, _ := net.InterfaceAddrs() // without them, the table alone counts
	return slices.ContainsFunc(all, func(one net.Addr) bool {
		p, err := netip.ParsePrefix(one.String())
		return err == nil && p.Addr().Unmap() == a
	})
}
