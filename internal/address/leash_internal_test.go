package address

import (
	"net/netip"
	"net/url"
	"testing"
)

// What is near this machine is not reached by way of a server that is not.
func TestLeash(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		origin, to string // addresses
		ok         bool
	}{
		{"9.9.9.9", "1.1.1.1", true}, {"9.9.9.9", "10.0.0.1", false}, {"9.9.9.9", "127.0.0.1", false},
		{"9.9.9.9", "169.254.169.254", false}, {"9.9.9.9", "100.64.0.1", false}, {"9.9.9.9", "::1", false},
		{"9.9.9.9", "::ffff:127.0.0.1", false}, {"9.9.9.9", "fd00::1", false}, {"9.9.9.9", "fe80::1", false},
		{"9.9.9.9", "0.0.0.0", false}, {"10.0.0.1", "192.168.0.1", true}, {"10.0.0.1", "127.0.0.1", false},
		{"10.0.0.1", "169.254.169.254", false}, {"127.0.0.1", "10.0.0.1", true}, {"127.0.0.1", "127.0.0.2", true},
		{"9.9.9.9", "64:ff9b::7f00:1", false}, {"9.9.9.9", "168.63.129.16", false}, {"9.9.9.9", "192.0.0.192", false},
		{"9.9.9.9", "0.1.2.3", false}, {"9.9.9.9", "2002:7f00:1::", false}, {"10.0.0.1", "64:ff9b::7f00:1", false},
		{"10.0.0.1", "168.63.129.16", false}, {"9.9.9.9", "64:ff9b::101:101", true},
	} {
		g := NewLeash(&url.URL{Scheme: "https", Host: "origin.example"})
		if err := g.check("origin.example:443", netip.MustParseAddr(c.origin)); err != nil {
			t.Errorf("%s: %v", c.origin, err)
		}
		if err := g.check("other.example:443", netip.MustParseAddr(c.to)); (err == nil) != c.ok {
			t.Errorf("from %s to %s: %v", c.origin, c.to, err)
		}
		// The name of the origin may not come to mean something nearer either.
		if err := g.check("origin.example:443", netip.MustParseAddr(c.to)); (err == nil) != c.ok {
			t.Errorf("from %s to %s by the same name: %v", c.origin, c.to, err)
		}
	}
}
