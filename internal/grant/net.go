package grant

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
)

// Hosts is an entry of a list of what a process may connect to: an address, a name, or all names below
// one, with one port or every one. It is comparable.
type Hosts struct {
	Name  string     // in lower case; empty: it is an address
	Addr  netip.Addr // never an IPv4 address inside an IPv6 one
	Below bool       // all names below Name, at any depth, and not Name itself
	Port  uint16     // 0: every port
}

// String is the entry as [ParseHosts] reads it, in its one form.
func (h Hosts) String() string {
	host, port := h.Name, "*"
	if h.Addr.IsValid() {
		host = h.Addr.String()
	}
	if h.Below {
		host = "*." + host
	}
	if h.Port != 0 {
		port = strconv.Itoa(int(h.Port))
	}
	return net.JoinHostPort(host, port)
}

// Covers reports whether the entry gives all that another does.
func (h Hosts) Covers(other Hosts) bool {
	switch {
	case h.Port != 0 && h.Port != other.Port:
		return false
	case h.Below:
		return strings.HasSuffix(other.Name, "."+h.Name) || other.Below && other.Name == h.Name
	}
	return h.Name == other.Name && h.Addr == other.Addr && !other.Below
}

// ParseHosts reads one of
//
//	api.example.com:443    that name
//	*.example.com:443      every name below example.com, at any depth, and not example.com
//	192.0.2.7:5432         that address
//	[2001:db8::1]:443
//	localhost:8080         the loopback interface of the host's machine
//	api.example.com:*      every port of that name, or of an address
//
// What a resolver or a person could take for another host is refused. What an entry means, such as that anyone
// can have a name below co.uk, the host knows (internal/egress).
//
// # Errors
//
// What cannot be read, and what is too wide by its form alone. The error says what to write.
func ParseHosts(s string) (h Hosts, err error) {
	switch bare := strings.TrimSpace(s); {
	case bare == "":
		return h, errors.New("it is empty; write host:port")
	case bare != s:
		return h, errors.New("it has white space around it")
	case strings.HasPrefix(s, "*") && !strings.HasPrefix(s, "*."):
		return h, errors.New(`it is too wide: every host; list the hosts, or write "any" in place of a list`)
	case strings.Contains(s, "://"):
		return h, fmt.Errorf("it is a URL; %s", hint(s))
	case strings.Contains(s, "@"):
		return h, fmt.Errorf("it names a user; %s", hint(s))
	case strings.Contains(s, "/"):
		before, _, _ := strings.Cut(s, "/")
		if _, err := netip.ParseAddr(strings.Trim(before, "[]")); err == nil {
			return h, errors.New("a range of addresses is too wide; list each address with its port")
		}
		return h, fmt.Errorf("it has a path; %s", hint(s))
	}
	host, port, hasPort := cutPort(s)
	if !hasPort {
		host, port = strings.Trim(s, "[]"), "1"
	}
	if host, h.Below = strings.CutPrefix(host, "*."); strings.Contains(host, "*") {
		return h, errors.New("a star stands for the first parts of a name, as in *.example.com:443")
	}
	if h.Name, h.Addr, err = parseHost(host); err != nil {
		return h, err
	}
	if port != "*" {
		if h.Port, err = ParsePort(port); err != nil {
			return h, fmt.Errorf("%w; %s", err, hint(s))
		}
	}
	if err := h.tooWide(); err != nil {
		return h, err
	}
	if !hasPort {
		return h, fmt.Errorf("it has no port; %s", hint(s))
	}
	return h, nil
}

func (h Hosts) tooWide() error {
	switch {
	case h.Below && h.Name == "":
		return errors.New("an address has no names below it; list each address")
	case h.Below && !strings.Contains(h.Name, "."):
		return fmt.Errorf("it is too wide: anyone can have a name below %s; list the names", h.Name)
	case h.Below && h.Port == 0:
		return errors.New("it is too wide: a star for the port needs one host; say the port")
	case h.Name == "localhost" && h.Port == 0:
		return errors.New("it is too wide: it opens every service of a machine that is not public; say the port")
	case h.Addr.IsUnspecified(), h.Addr.IsMulticast(), thisNetwork.Contains(h.Addr), h.Addr == broadcast:
		return errors.New("that address does not stand for one machine; list each address")
	}
	return nil
}

var (
	thisNetwork = netip.MustParsePrefix("0.0.0.0/8")
	broadcast   = netip.MustParseAddr("255.255.255.255")
)

// cutPort cuts host:port, or [address]:port.
func cutPort(s string) (h, port string, ok bool) {
	if rest, bracket := strings.CutPrefix(s, "["); bracket {
		h, port, ok = strings.Cut(rest, "]:")
		return h, port, ok && strings.Contains(h, ":")
	}
	h, port, ok = strings.Cut(s, ":")
	return h, port, ok && !strings.Contains(port, ":")
}

// parseHost reads a name or an address without brackets.
func parseHost(s string) (name string, addr netip.Addr, err error) {
	addr, err = netip.ParseAddr(s)
	switch {
	case err == nil && addr.Zone() != "":
		return "", addr, errors.New("addresses have no zone here")
	case err == nil && addr.Is4In6() && !addr.Unmap().IsUnspecified():
		return "", addr, fmt.Errorf("it is an IPv4 address inside an IPv6 one: write %s", addr.Unmap())
	case err == nil:
		return "", addr.Unmap(), nil
	case strings.Contains(s, ":"):
		return "", addr, errors.New("it is not an IPv6 address")
	}
	name = strings.ToLower(s)
	return name, netip.Addr{}, CheckName(name)
}

// CheckName checks the name of a host, in lower case. Underscores are allowed: some services have them.
//
// # Errors
//
// It is not a name, or one that a resolver takes for an address.
func CheckName(s string) error {
	if s == "" {
		return errors.New("the host is missing")
	}
	if len(s) > 253 {
		return errors.New("a name has at most 253 characters")
	}
	labels := strings.Split(s, ".")
	for _, label := range labels {
		if label == "" || len(label) > 63 {
			return errors.New("each part of a name has 1 to 63 characters")
		}
		if strings.ContainsFunc(label, func(c rune) bool { return !nameRune(c) }) {
			return errors.New("a name has only letters, digits, hyphens and dots (and beyond ASCII its parts begin with xn--)")
		}
		if label[0] == '-' || label[len(label)-1] == '-' {
			return errors.New("no part of a name begins or ends with a hyphen")
		}
	}
	// 127.1, 0x7f.1 and 2130706433 are 127.0.0.1 for inet_aton.
	last := labels[len(labels)-1]
	if strings.Trim(last, "0123456789") == "" || strings.HasPrefix(last, "0x") {
		return errors.New("an IPv4 address has four decimal numbers")
	}
	return nil
}

func nameRune(c rune) bool {
	return 'a' <= c && c <= 'z' || '0' <= c && c <= '9' || c == '-' || c == '_'
}

// ParsePort reads the number of a port.
//
// # Errors
//
// It is not one, as 0, 080 and +80 are not.
func ParsePort(s string) (uint16, error) {
	n, err := strconv.ParseUint(s, 10, 16)
	if err != nil || s[0] == '0' || s[0] == '+' {
		return 0, errors.New("a port is a number from 1 to 65535")
	}
	return uint16(n), nil
}

var ports = map[string]string{
	"http": "80", "ws": "80", "https": "443", "wss": "443", "grpc": "443", "ftp": "21", "ssh": "22", "git": "9418", "amqp": "5672",
	"postgres": "5432", "postgresql": "5432", "mysql": "3306", "redis": "6379", "mongodb": "27017", "nats": "4222",
	"ldap": "389", "ldaps": "636",
}

// hint says how what was meant is written: without scheme, user and path.
func hint(s string) string {
	scheme, rest, ok := strings.Cut(s, "://")
	if !ok {
		scheme, rest = "", s
	}
	rest, _, _ = strings.Cut(rest, "/")
	rest = rest[strings.LastIndex(rest, "@")+1:]
	host, port, ok := cutPort(rest)
	if !ok {
		host, port = strings.Trim(rest, "[]"), ports[strings.ToLower(scheme)]
	}
	n, err := ParsePort(port)
	if err != nil {
		n, _ = ParsePort(ports[strings.ToLower(port)])
	}
	var h Hosts
	host, h.Below = strings.CutPrefix(host, "*.")
	if h.Name, h.Addr, err = parseHost(host); err != nil {
		return "write host:port, such as api.example.com:443"
	}
	if h.Port = n; n == 0 {
		return "write " + strings.TrimSuffix(h.String(), "*") + "PORT, such as 443"
	}
	return "write " + h.String()
}

// checkHosts checks the form of an entry. What it means, such as that anyone can have a name below co.uk, a host
// knows, which refuses that when the plugin describes itself.
func checkHosts(entry string) error {
	if entry == Any {
		return nil
	}
	_, err := ParseHosts(entry)
	return err
}

func normalHosts(entry string) string {
	h, err := ParseHosts(entry)
	if err != nil { // it has been checked, so it is everything
		return entry
	}
	return h.String()
}

func hostsCover(wide, narrow string) bool {
	w, err := ParseHosts(wide)
	n, err2 := ParseHosts(narrow)
	return wide == Any || err == nil && err2 == nil && w.Covers(n)
}
