package egress

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"

	"golang.org/x/net/publicsuffix"

	"github.com/toolhost/toolhost/internal/sanitize"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Pattern is one line of an allow-list: where connections may go. It is comparable.
type Pattern struct {
	host
	below bool   // every name below host, and not host itself
	port  uint16 // 0: every port
}

// String is the pattern as [ParsePattern] reads it, in its one form.
func (p Pattern) String() string {
	h, port := p.host.String(), "*"
	if p.below {
		h = "*." + h
	}
	if p.port != 0 {
		port = strconv.Itoa(int(p.port))
	}
	return net.JoinHostPort(h, port)
}

// ParsePattern reads one of
//
//	api.example.com:443    that name
//	*.example.com:443      every name below example.com, at any depth, and not example.com
//	192.0.2.7:5432         that address
//	[2001:db8::1]:443
//	localhost:8080         the loopback interface of the host's machine
//	api.example.com:*      every port of that name, or of a public address
//
// It is what a plugin may declare ([tool.CheckNet]), and no more. Case is normalized. A name allows no
// connection to an address in its place, and an address none to a name.
//
// # Errors
//
// What cannot be read, and what is too wide: everything, every name below a suffix under
// which anyone can register names (com, co.uk, github.io), every port of a pattern with a
// star or of a machine that is not on the public Internet, ranges and addresses that stand
// for several machines. The error says what to write.
func ParsePattern(s string) (Pattern, error) {
	p, err := parsePattern(s)
	if err != nil {
		return Pattern{}, fmt.Errorf("%s: %w", sanitize.Quote(s, 100), err)
	}
	return p, nil
}

func parsePattern(s string) (Pattern, error) {
	switch bare := strings.TrimSpace(s); {
	case bare == "":
		return Pattern{}, errors.New("it is empty; write host:port")
	case bare != s:
		return Pattern{}, errors.New("it has white space around it")
	case strings.HasPrefix(s, "*") && !strings.HasPrefix(s, "*."):
		return Pattern{}, errors.New(`it is too wide: every host; list the hosts, or write "any" in place of a list`)
	case strings.Contains(s, "://"):
		return Pattern{}, fmt.Errorf("it is a URL; %s", hint(s))
	case strings.Contains(s, "@"):
		return Pattern{}, fmt.Errorf("it names a user; %s", hint(s))
	case strings.Contains(s, "/"):
		before, _, _ := strings.Cut(s, "/")
		if _, err := netip.ParseAddr(strings.Trim(before, "[]")); err == nil {
			return Pattern{}, errors.New("a range of addresses is too wide; list each address with its port")
		}
		return Pattern{}, fmt.Errorf("it has a path; %s", hint(s))
	}
	h, port, hasPort := cutPort(s)
	if !hasPort {
		h, port = strings.Trim(s, "[]"), "1"
	}
	p := Pattern{}
	if h, p.below = strings.CutPrefix(h, "*."); strings.Contains(h, "*") {
		return Pattern{}, errors.New("a star stands for the first parts of a name, as in *.example.com:443")
	}
	var err error
	if p.host, err = parseHost(h); err != nil {
		return Pattern{}, err
	}
	if port != "*" {
		if p.port, err = parsePort(port); err != nil {
			return Pattern{}, fmt.Errorf("%w; %s", err, hint(s))
		}
	}
	if err := p.tooWide(); err != nil {
		return Pattern{}, err
	}
	if !hasPort {
		return Pattern{}, fmt.Errorf("it has no port; %s", hint(s))
	}
	return p, tool.CheckNet(s) // one spelling of each host, whoever writes it
}

// cutPort cuts host:port, or [address]:port.
func cutPort(s string) (h, port string, ok bool) {
	if rest, bracket := strings.CutPrefix(s, "["); bracket {
		h, port, ok = strings.Cut(rest, "]:")
		return h, port, ok && strings.Contains(h, ":")
	}
	h, port, ok = strings.Cut(s, ":")
	return h, port, ok && !strings.Contains(port, ":")
}

// Loopback returns the port if the pattern is one of the machine's own loopback interface that
// has the address 127.0.0.1.
func (p Pattern) Loopback() (port uint16, ok bool) {
	return p.port, p.name == "localhost" || p.addr == loopback
}

var loopback = netip.AddrFrom4([4]byte{127, 0, 0, 1})

func (p Pattern) tooWide() error {
	switch {
	case p.below && p.name == "":
		return errors.New("an address has no names below it; list each address")
	case p.below && suffix(p.name):
		return fmt.Errorf("it is too wide: anyone can have a name below %s; list the names", p.name)
	case p.below && p.port == 0:
		return errors.New("it is too wide: a star for the port needs one host; say the port")
	case p.addr.IsUnspecified(), p.addr.IsMulticast(), thisNetwork.Contains(p.addr), p.addr == broadcast:
		return errors.New("that address does not stand for one machine; list each address")
	case p.port == 0 && (p.name == "localhost" || p.addr.IsValid() && special(p.addr) != ""):
		return errors.New("it is too wide: it opens every service of a machine that is not public; say the port")
	}
	return nil
}

// suffix reports whether different people have the names below this one.
func suffix(name string) bool {
	s, _ := publicsuffix.PublicSuffix(name)
	return s == name
}

// matches reports whether the pattern allows a connection to this target, leaving aside what a name
// resolves to.
func (p Pattern) matches(t target) bool {
	if p.port != 0 && p.port != t.port {
		return false
	}
	if p.below {
		return strings.HasSuffix(t.name, "."+p.name)
	}
	return p.host == t.host
}

var ports = map[string]string{
	"http": "80", "ws": "80", "https": "443", "wss": "443", "grpc": "443", "ftp": "21", "ssh": "22", "git": "9418", "amqp": "5672",
	"postgres": "5432", "postgresql": "5432", "mysql": "3306", "redis": "6379", "mongodb": "27017", "nats": "4222", "ldap": "389", "ldaps": "636",
}

// hint says how what was meant is written: without scheme, user and path.
func hint(s string) string {
	scheme, rest, ok := strings.Cut(s, "://")
	if !ok {
		scheme, rest = "", s
	}
	rest, _, _ = strings.Cut(rest, "/")
	rest = rest[strings.LastIndex(rest, "@")+1:]
	h, port, ok := cutPort(rest)
	if !ok {
		h, port = strings.Trim(rest, "[]"), ports[strings.ToLower(scheme)]
	}
	if _, err := parsePort(port); err != nil {
		port = ports[strings.ToLower(port)]
	}
	name, below := strings.CutPrefix(h, "*.")
	star := ""
	if below {
		star = "*."
	}
	parsed, err := parseHost(name)
	if err != nil {
		return "write host:port, such as api.example.com:443"
	}
	if port == "" {
		port = "PORT, such as 443"
		if parsed.addr.Is6() {
			return "write [" + parsed.String() + "]:" + port
		}
		return "write " + star + parsed.String() + ":" + port
	}
	return "write " + net.JoinHostPort(star+parsed.String(), port)
}
