package address_test

import (
	"net"
	"net/netip"
	"testing"

	"github.com/toolhost/toolhost/internal/address"
	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/require"
)

func TestSpecialAddresses(t *testing.T) {
	t.Parallel()
	for _, a := range []string{
		"0.0.0.0", "0.1.2.3", "10.1.2.3", "100.64.0.1", "100.100.100.200", "127.0.0.1", "127.255.0.1", "168.63.129.16", "169.254.169.254", "172.16.0.1",
		"172.31.255.255", "192.0.0.192", "192.0.2.1", "192.168.1.1", "198.18.0.1", "224.0.0.1", "240.0.0.1", "255.255.255.255",
		"::", "::1", "::127.0.0.1", "::ffff:127.0.0.1", "::ffff:169.254.169.254", "64:ff9b::127.0.0.1", "64:ff9b::a9fe:a9fe", "64:ff9b:1::8.8.8.8",
		"2002:7f00:1::", "2001:0:1::", "2001:db8::1", "fc00::1", "fd00:ec2::254", "fe80::1", "fe80::1%eth0", "2606:4700::1%eth0", "fec0::1", "ff02::1", "100::1", "4000::1", "3fff::1",
	} {
		if address.Kind(netip.MustParseAddr(a)) == "" {
			t.Errorf("%s counts as an address on the public Internet", a)
		}
	}
	for _, a := range []string{"1.1.1.1", "8.8.8.8", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "172.15.0.1", "172.32.0.1", "192.0.1.1", "223.255.255.255",
		"2606:4700::1111", "2a00::1", "::ffff:8.8.8.8", "64:ff9b::8.8.8.8"} {
		assert.Equalf(t, address.Kind(netip.MustParseAddr(a)), "", "%s counts as", a)
	}
	if address.Kind(netip.Addr{}) == "" {
		t.Error("no address counts as one on the public Internet")
	}
}

// Each address of this machine is here, and what only looks like a private one is special.
func TestReachOf(t *testing.T) {
	t.Parallel()
	for a, want := range map[string]address.Reach{
		"8.8.8.8": address.Public, "64:ff9b::8.8.8.8": address.Public, "10.1.2.3": address.Private, "100.64.0.1": address.Private,
		"fc00::1": address.Private, "100.100.100.200": address.Special, "fd00:ec2::254": address.Special, "169.254.169.254": address.Special,
		"64:ff9b::169.254.169.254": address.Special, "127.0.0.1": address.Here, "::1": address.Here, "::": address.Here, "0.0.0.0": address.Here,
		"64:ff9b::127.0.0.1": address.Here, "::ffff:127.0.0.1": address.Here,
	} {
		assert.Equalf(t, address.ReachOf(netip.MustParseAddr(a)), want, "%s", a)
	}
	for _, one := range require.Must(net.InterfaceAddrs())(t) {
		a := require.Must(netip.ParsePrefix(one.String()))(t).Addr()
		if address.ReachOf(a) != address.Here || address.KindHere(a) == "" {
			t.Errorf("%s is an address of this machine", a)
		}
	}
	for host, want := range map[string]address.Reach{
		"LOCALHOST": address.Here, "a.localhost": address.Here, "localhost.": address.Here, "127.1": address.Here, "2130706433": address.Here,
		"0x7f.1": address.Here, "[::1]": address.Unknown, "::1": address.Here, "example.com": address.Unknown, "10.0.0.1": address.Private,
	} {
		assert.Equalf(t, address.ReachOfHost(host), want, "%s", host)
	}
}
