package egress

import "net/netip"

// ranges are the addresses that a name may not lead to, because they are not on the public
// Internet: the special-purpose registries of IANA (RFC 6890), and the addresses at which
// clouds serve the credentials of a machine.
var ranges = []struct {
	prefix netip.Prefix
	kind   string
}{
	{netip.MustParsePrefix("0.0.0.0/8"), "an address of this machine"},
	{netip.MustParsePrefix("10.0.0.0/8"), "a private address"},
	{netip.MustParsePrefix("100.64.0.0/10"), "an address inside a provider's network"},
	{netip.MustParsePrefix("127.0.0.0/8"), "a loopback address"},
	{netip.MustParsePrefix("168.63.129.16/32"), "an address of a cloud's metadata"}, // Azure
	{netip.MustParsePrefix("169.254.0.0/16"), "a link-local address, at which clouds serve metadata"},
	{netip.MustParsePrefix("172.16.0.0/12"), "a private address"},
	{netip.MustParsePrefix("192.0.0.0/24"), "a reserved address"},
	{netip.MustParsePrefix("192.0.2.0/24"), "an address for documentation"},
	{netip.MustParsePrefix("192.88.99.0/24"), "a relay's address"},
	{netip.MustParsePrefix("192.168.0.0/16"), "a private address"},
	{netip.MustParsePrefix("198.18.0.0/15"), "an address for benchmarks"},
	{netip.MustParsePrefix("198.51.100.0/24"), "an address for documentation"},
	{netip.MustParsePrefix("203.0.113.0/24"), "an address for documentation"},
	{netip.MustParsePrefix("224.0.0.0/4"), "a multicast address"},
	{netip.MustParsePrefix("240.0.0.0/4"), "a reserved address"},
	{netip.MustParsePrefix("::1/128"), "a loopback address"},
	{netip.MustParsePrefix("fc00::/7"), "a private address"},
	{netip.MustParsePrefix("fe80::/10"), "a link-local address"},
	{netip.MustParsePrefix("ff00::/8"), "a multicast address"},
	{netip.MustParsePrefix("2001::/23"), "a reserved address"}, // Teredo among them
	{netip.MustParsePrefix("2001:db8::/32"), "an address for documentation"},
	{netip.MustParsePrefix("2002::/16"), "an IPv4 address inside an IPv6 one"},
	{netip.MustParsePrefix("3fff::/20"), "an address for documentation"},
}

var (
	loopback = netip.AddrFrom4([4]byte{127, 0, 0, 1})
	// nat64 is what a network without IPv4 gives names that have only IPv4 addresses
	// (RFC 6052): the last 32 bits are the address.
	nat64   = netip.MustParsePrefix("64:ff9b::/96")
	unicast = netip.MustParsePrefix("2000::/3")
)

// Public reports whether an address is on the public Internet.
func Public(a netip.Addr) bool { return special(a) == "" }

// Real returns the IPv4 address that a connection leads to if it is inside an IPv6 one, else the
// address.
func Real(a netip.Addr) netip.Addr {
	a = a.Unmap()
	if nat64.Contains(a) {
		b := a.As16()
		a = netip.AddrFrom4([4]byte(b[12:]))
	}
	return a
}

// special says what kind of address this is if it is not on the public Internet, and is
// empty otherwise.
func special(a netip.Addr) string {
	a = Real(a)
	for _, r := range ranges {
		if r.prefix.Contains(a) {
			return r.kind
		}
	}
	if a.Is6() && (a.Zone() != "" || !unicast.Contains(a)) || !a.IsValid() {
		return "a reserved address"
	}
	return ""
}
