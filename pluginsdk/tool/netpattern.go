package tool

import (
	"errors"
	"net/netip"
	"strconv"
	"strings"
)

// netPattern is an entry of [Needs.Net] that is not [Any]: an address, a name, or all names
// below one.
type netPattern struct {
	addr  netip.Addr
	name  string // in lower case; empty: it is an address
	below bool   // all names below name, and not name itself
	port  string // "*": every port
}

// CheckNet returns an error unless an entry has the form of those of [Needs.Net]. What it means, such as
// that anyone can have a name below co.uk, a host knows, which refuses that when the plugin describes itself.
func CheckNet(entry string) error {
	if entry == Any {
		return nil
	}
	_, err := parseNet(entry)
	return err
}

func parseNet(entry string) (p netPattern, err error) {
	host, port, err := cutPort(entry)
	if err != nil {
		return p, err
	}
	if p.port, err = parsePort(port); err != nil {
		return p, err
	}
	if addr, err := netip.ParseAddr(host); err == nil {
		p.addr = addr
		return p, checkAddr(addr)
	}
	name, below := strings.CutPrefix(strings.ToLower(host), "*.")
	p.name, p.below = name, below
	switch {
	case host == "*":
		return p, errors.New("it is too wide, as it stands for every host: list the hosts, or write any")
	case strings.Contains(name, "*"):
		return p, errors.New("a star stands for the first parts of a name, as in *.example.com:443")
	case below && !strings.Contains(name, "."):
		return p, errors.New("it is too wide, as it stands for every name below " + name + ": list the names")
	case p.port == "*" && (below || name == "localhost"):
		return p, errors.New("it is too wide: a star for the port needs the name of one host elsewhere")
	}
	return p, checkHostName(name)
}

// cutPort cuts host:port, or [address]:port.
func cutPort(entry string) (host, port string, err error) {
	rest, bracket := strings.CutPrefix(entry, "[")
	switch {
	case strings.ContainsAny(entry, "/@"):
		return "", "", errors.New("it is not host:port: write no scheme, user, path or range of addresses")
	case bracket:
		host, port, bracket = strings.Cut(rest, "]:")
		if !bracket || !strings.Contains(host, ":") {
			return "", "", errors.New("it is not [address]:port with an IPv6 address")
		}
		return host, port, nil
	case strings.Count(entry, ":") != 1:
		return "", "", errors.New("it is not host:port, such as api.example.com:443 or [2001:db8::1]:443")
	}
	host, port, _ = strings.Cut(entry, ":")
	return host, port, nil
}

func parsePort(port string) (string, error) {
	if port == "*" {
		return port, nil
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil || n == 0 || port[0] == '0' {
		return "", errors.New("a port is a number from 1 to 65535")
	}
	return port, nil
}

func checkAddr(addr netip.Addr) error {
	switch {
	case addr.Zone() != "":
		return errors.New("an address has no zone here")
	case addr.Is4In6():
		return errors.New("it is an IPv4 address inside an IPv6 one: write " + addr.Unmap().String())
	case addr.IsUnspecified(), addr.IsMulticast(), addr == netip.AddrFrom4([4]byte{255, 255, 255, 255}):
		return errors.New("the address does not stand for one machine")
	}
	return nil
}

// checkHostName checks a name in lower case: what a resolver could take for something else is
// refused, and so is what a person could take for another name.
func checkHostName(name string) error {
	labels := strings.Split(name, ".")
	if len(name) > 253 {
		return errors.New("a name has at most 253 characters")
	}
	for _, label := range labels {
		if !spells(label, 63, "-_") || strings.HasPrefix(label, "-") || strings.HasSuffix(label, "-") {
			return errors.New("each part of a name has 1 to 63 letters, digits, - and _ (and names beyond ASCII begin with xn--)")
		}
	}
	// 127.1, 0x7f.1 and 2130706433 are addresses to inet_aton.
	last := labels[len(labels)-1]
	if strings.Trim(last, "0123456789") == "" || strings.HasPrefix(last, "0x") {
		return errors.New("an IPv4 address has four decimal numbers")
	}
	return nil
}

// normalNet is an entry in the form in which entries are compared.
func normalNet(entry string) string {
	p, err := parseNet(entry)
	switch {
	case err != nil: // any
		return entry
	case p.addr.Is6():
		return "[" + p.addr.String() + "]:" + p.port
	case p.addr.IsValid():
		return p.addr.String() + ":" + p.port
	}
	return strings.ToLower(entry)
}

func netCovers(wide, narrow string) bool {
	if wide == Any || wide == narrow {
		return true
	}
	w, err := parseNet(wide)
	n, err2 := parseNet(narrow)
	if err != nil || err2 != nil || w.port != "*" && w.port != n.port || w.name == "" || n.name == "" {
		return false
	}
	if w.below {
		return strings.HasSuffix(n.name, "."+w.name) || n.below && n.name == w.name
	}
	return w.name == n.name && !n.below
}
