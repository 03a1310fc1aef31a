package pluginrun

import (
	"strings"
	"testing"

	"github.com/toolhost/toolhost/internal/egress"
	"github.com/toolhost/toolhost/internal/need"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// What a plugin may declare to connect to is what the proxy takes, and both have the same form of it.
func TestDeclaredHostsAreThoseOfTheProxy(t *testing.T) {
	t.Parallel()
	for _, host := range []string{
		"api.example.com:443", "API.Example.com:1", "*.example.com:443", "192.0.2.7:5432", "[2001:DB8::0:1]:53", "[::1]:65535", "localhost:8080",
		"api.example.com:*", "_srv.a-b.example:80", "xn--bcher-kva.example:443", "a.example:443",
		"", "*", "*:443", "*.com:443", "*.example.com:*", "localhost:*", "192.0.2.7:*", "10.0.0.1:*", "a.*.com:443", "*example.com:443", "a.example:0",
		"a.example:65536", "a.example:+80", "a.example:", ":443", "a..b:443", "-a.example:443", "127.1:443", "2130706433:443", "0x7f.0x1:443",
		"0.0.0.0:443", "[ff02::1]:443", "[fe80::1%eth0]:443", "::1:53", "[::1]", "[192.0.2.7]:53", "https://a.example:443", "a@b:1", "10.0.0.0/8:443",
		"*.co.uk:443", "*.github.io:443", "EXAMPLE.com.:443", "bücher.example:443", "a.example:080", "[::ffff:127.0.0.1]:443", "8.8.8.8:*", "0.1.2.3:1",
		" a.example:443", "a.example:443\n", "a.example", "a b:1", "255.255.255.255:1", strings.Repeat("a", 64) + ".example:1",
	} {
		n := &tool.Needs{Net: []string{host}}
		declared := egress.CheckNeeds(n)
		p, err := egress.ParsePattern(host)
		if (declared == nil) != (err == nil) {
			t.Errorf("%q: declared %v, of the proxy %v", host, declared, err)
		}
		if declared == nil && err == nil && p.String() != need.Normal(n).Net[0] {
			t.Errorf("%q: declared as %s, of the proxy %s", host, need.Normal(n).Net[0], p)
		}
	}
}
