package egress

import (
	"strings"
	"testing"

	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/require"
)

func TestPatterns(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"api.example.com:443":            "api.example.com:443",
		"API.Example.COM:443":            "api.example.com:443",
		"*.Example.com:443":              "*.example.com:443",
		"xn--bcher-kva.example:443":      "xn--bcher-kva.example:443",
		"*.a.co.uk:443":                  "*.a.co.uk:443",
		"api.example.com:*":              "api.example.com:*",
		"0.example.com:80":               "0.example.com:80",
		"my_db:5432":                     "my_db:5432",
		"r3---sn-apo3qvuo.example.com:1": "r3---sn-apo3qvuo.example.com:1",
		"192.0.2.7:5432":                 "192.0.2.7:5432",
		"169.254.169.254:80":             "169.254.169.254:80",
		"[2001:DB8:0::1]:443":            "[2001:db8::1]:443",
		"8.8.8.8:*":                      "8.8.8.8:*",
		"localhost:8080":                 "localhost:8080",
		"127.0.0.1:8080":                 "127.0.0.1:8080",
		"github.io:443":                  "github.io:443",
	} {
		p, err := ParsePattern(in)
		if err != nil {
			t.Errorf("ParsePattern(%q): %v", in, err)
		} else if got := p.String(); got != want {
			t.Errorf("ParsePattern(%q) is %s, not %s", in, got, want)
		} else if again, err := ParsePattern(got); err != nil || again != p {
			t.Errorf("ParsePattern(%q) is %v, %v: its one form is not read as itself", got, again, err)
		}
	}
}

// Each error says what is wrong and, if it can be told, what to write.
func TestPatternErrors(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a", 64)
	for in, want := range map[string]string{
		"":                                 "write host:port",
		"api.example.com.:443":             "each part",
		"bücher.example:443":               "begin with xn--",
		"[::ffff:192.0.2.7]:443":           "write 192.0.2.7",
		"api.example.com:080":              "a port is",
		" api.example.com:443":             "white space",
		"*":                                "too wide",
		"*:443":                            "too wide",
		"*:*":                              "too wide",
		"*.com:443":                        "too wide: anyone can have a name below com",
		"*.com":                            "too wide",
		"*.co.uk:443":                      "too wide",
		"*.CO.UK.:443":                     "each part",
		"*.github.io:443":                  "below github.io",
		"*.localhost:443":                  "too wide",
		"*.example.com:*":                  "say the port",
		"localhost:*":                      "say the port",
		"10.0.0.5:*":                       "say the port",
		"[fd00::1]:*":                      "say the port",
		"0.0.0.0":                          "does not stand for one machine",
		"0.0.0.0:443":                      "does not stand for one machine",
		"0.1.2.3:443":                      "does not stand for one machine",
		"[::]:443":                         "does not stand for one machine",
		"[::ffff:0.0.0.0]:443":             "does not stand for one machine",
		"255.255.255.255:9":                "does not stand for one machine",
		"224.0.0.1:9":                      "does not stand for one machine",
		"[ff02::1]:9":                      "does not stand for one machine",
		"10.0.0.0/8":                       "range",
		"10.0.0.0/8:443":                   "range",
		"2001:db8::/32":                    "range",
		"*.0.0.1:443":                      "four decimal numbers",
		"*.10.0.0.1:443":                   "no names below",
		"api.*.com:443":                    "a star stands for",
		"api*.example.com:443":             "a star stands for",
		"*.*.example.com:443":              "a star stands for",
		"https://api.example.com":          "write api.example.com:443",
		"https://API.example.com:8443/v1":  "write api.example.com:8443",
		"https://u:p@api.example.com/?a=b": "write api.example.com:443",
		"https://*.example.com":            "write *.example.com:443",
		"postgres://db.example.com/x":      "write db.example.com:5432",
		"odd://db.example.com":             "write db.example.com:PORT",
		"https://[2001:db8::1]/":           "write [2001:db8::1]:443",
		"git@github.com:org/repo":          "write github.com:PORT",
		"user@example.com:22":              "write example.com:22",
		"api.example.com/v1":               "write api.example.com:PORT",
		"api.example.com":                  "write api.example.com:PORT",
		"api.example.com:https":            "write api.example.com:443",
		"2001:db8::1":                      "write [2001:db8::1]:PORT",
		"[2001:db8::1]":                    "write [2001:db8::1]:PORT",
		"api.example.com:":                 "1 to 65535",
		"api.example.com:0":                "1 to 65535",
		"api.example.com:65536":            "1 to 65535",
		"api.example.com:+443":             "1 to 65535",
		"api.example.com:-1":               "1 to 65535",
		":443":                             "the host is missing",
		".:443":                            "1 to 63",
		"a..b:443":                         "1 to 63",
		"a.b..:443":                        "1 to 63",
		".example.com:443":                 "1 to 63",
		long + ".example.com:443":          "1 to 63",
		strings.Repeat("a.", 128) + ":443": "at most 253",
		strings.Repeat("a.", 999) + ":443": "at most 253",
		"-a.example.com:443":               "hyphen",
		"a b.example.com:443":              "letters, digits",
		"a\x00.example.com:443":            "letters, digits",
		"a\n.example.com:443":              "letters, digits",
		"%61.example.com:443":              "letters, digits",
		"127.1:80":                         "four decimal numbers",
		"0x7f.1:80":                        "four decimal numbers",
		"0x7f000001:80":                    "four decimal numbers",
		"2130706433:80":                    "four decimal numbers",
		"0177.0.0.1:80":                    "four decimal numbers",
		"１２７.1:80":                         "begin with xn--",
		"256.1.1.1:80":                     "four decimal numbers",
		"[127.0.0.1]:80":                   "IPv6",
		"[fe80::1%eth0]:80":                "no zone",
		"[api:443":                         "IPv6",
		"a\xff.example.com:443":            "letters, digits",
	} {
		p, err := ParsePattern(in)
		if err == nil {
			t.Errorf("ParsePattern(%q) is %s, and not an error", in, p)
		} else if !strings.Contains(err.Error(), want) || strings.ContainsAny(err.Error(), "\x00\n") {
			t.Errorf("ParsePattern(%q): %q does not say %q", in, err, want)
		}
	}
}

func TestPatternMatches(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		pattern, target string
		want            bool
	}{
		{"api.example.com:443", "api.example.com:443", true},
		{"api.example.com:443", "API.EXAMPLE.com.:443", true},
		{"api.example.com:443", "api.example.com:80", false},
		{"api.example.com:443", "x.api.example.com:443", false},
		{"api.example.com:443", "xapi.example.com:443", false},
		{"api.example.com:443", "api.example.com.evil.example:443", false},
		{"api.example.com:*", "api.example.com:1", true},
		{"*.example.com:443", "a.example.com:443", true},
		{"*.example.com:443", "a.b.example.com:443", true},
		{"*.example.com:443", "example.com:443", false},
		{"*.example.com:443", "evilexample.com:443", false},
		{"*.example.com:443", "a.example.com:444", false},
		{"*.example.com:443", "192.0.2.1:443", false},
		{"xn--bcher-kva.example:443", "bücher.example:443", true},
		{"192.0.2.7:5432", "192.0.2.7:5432", true},
		{"192.0.2.7:5432", "[::ffff:192.0.2.7]:5432", true},
		{"192.0.2.7:5432", "[64:ff9b::192.0.2.7]:5432", false},
		{"[2001:db8::1]:443", "[2001:db8:0:0::1]:443", true},
		{"localhost:80", "127.0.0.1:80", false},
		{"127.0.0.1:80", "localhost:80", false},
	} {
		p := require.Must(ParsePattern(c.pattern))(t)
		target := require.Must(parseTarget(c.target))(t)
		assert.Equalf(t, p.matches(target), c.want, "%s matches %s", p, target)
	}
}

// What clients send is read as strictly as what operators write.
func TestTargetErrors(t *testing.T) {
	t.Parallel()
	for _, in := range []string{
		"", ":", "a", "a:", ":1", "a:0", "a:+1", "a:65536", "a:http", "a:1:2", "::1:80", "[a]:80", "[127.0.0.1]:80", "[::1%lo]:80", "u@a:80", "a/b:80",
		"a\x00.example.com:443", "a.example.com\x00.evil.example:443", "a.example.com\r\nX:443", "%61:80", "127.1:80", "0x7f000001:80", "*.a.example:80",
		"[::1]", "[::1]80", "..:80", strings.Repeat("a", 70000) + ":80",
	} {
		if got, err := parseTarget(in); err == nil {
			t.Errorf("parseTarget(%q) is %s, and not an error", in, got)
		}
	}
}

func FuzzParsePattern(f *testing.F) {
	for _, s := range []string{"api.example.com:443", "*.example.com:443", "[2001:db8::1]:443", "https://a@b/c", "bücher.example:*", "10.0.0.0/8"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		p, err := ParsePattern(s)
		if err != nil {
			return
		}
		if again, err := ParsePattern(p.String()); err != nil || again != p {
			t.Errorf("%q is %s, which is %v, %v", s, p, again, err)
		}
		if p.Below && suffix(p.Name) || p.Addr.IsUnspecified() {
			t.Errorf("%q is too wide", s)
		}
	})
}
