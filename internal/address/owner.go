package address

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"strconv"
	"strings"
)

// Owner returns the user whose open connection leads from one address of this machine to another.
//
// # Errors
//
// [errors.ErrUnsupported] if the system does not tell; another if there is no such connection.
func Owner(from, to netip.AddrPort) (uid int, err error) {
	for _, table := range []string{"tcp", "tcp6"} {
		text, err := os.ReadFile("/proc/net/" + table)
		if err != nil && table == "tcp" {
			return 0, errors.ErrUnsupported
		}
		for line := range strings.Lines(string(text)) {
			const open = "01" // a connection that is being closed has no owner, and counts as root's
			f := strings.Fields(line)
			if len(f) > 9 && inTable(f[1]) == from && inTable(f[2]) == to && f[3] == open && f[9] != "0" {
				return strconv.Atoi(f[7])
			}
		}
	}
	return 0, fmt.Errorf("there is no open connection from %s", from)
}

// inTable reads an address and port of the table: words in the order of the machine, in hexadecimal.
func inTable(text string) netip.AddrPort {
	host, port, _ := strings.Cut(text, ":")
	raw, err := hex.DecodeString(host)
	p, bad := strconv.ParseUint(port, 16, 16)
	if err != nil || bad != nil || len(raw)%4 != 0 {
		return netip.AddrPort{}
	}
	for i := 0; i < len(raw); i += 4 {
		binary.NativeEndian.PutUint32(raw[i:], binary.BigEndian.Uint32(raw[i:]))
	}
	a, _ := netip.AddrFromSlice(raw)
	return netip.AddrPortFrom(a.Unmap(), uint16(p))
}
