package egress

import (
	"errors"
	"fmt"

	"golang.org/x/net/publicsuffix"

	"github.com/toolhost/toolhost/internal/address"
	"github.com/toolhost/toolhost/internal/grant"
	"github.com/toolhost/toolhost/internal/sanitize"
)

// Pattern is one line of an allow-list: where connections may go. It is comparable. A name allows no
// connection to an address in its place, and an address none to a name.
type Pattern struct{ grant.Hosts }

// ParsePattern reads what [grant.ParseHosts] does.
//
// # Errors
//
// Those of [grant.ParseHosts], and what is too wide for what it means: every name below a suffix under which
// anyone can register names (co.uk, github.io), and every port of a machine that is not on the public
// Internet. The error says what to write.
func ParsePattern(s string) (Pattern, error) {
	h, err := grant.ParseHosts(s)
	p := Pattern{h}
	if err == nil {
		err = p.tooWide()
	}
	if err != nil {
		return Pattern{}, fmt.Errorf("%s: %w", sanitize.Quote(s, 100), err)
	}
	return p, nil
}

// Loopback returns the port if the pattern is one of the machine's own loopback interface that
// has the address 127.0.0.1.
func (p Pattern) Loopback() (port uint16, ok bool) {
	return p.Port, p.Name == "localhost" || p.Addr == loopback4
}

func (p Pattern) tooWide() error {
	switch {
	case p.Below && suffix(p.Name):
		return fmt.Errorf("it is too wide: anyone can have a name below %s; list the names", p.Name)
	case p.Port == 0 && p.Addr.IsValid() && address.Kind(p.Addr) != "":
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
	return p.Covers(grant.Hosts{Name: t.name, Addr: t.addr, Port: t.port})
}
