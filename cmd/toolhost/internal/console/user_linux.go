package console

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strconv"
	"strings"
)

// userOf returns whose process is at the end from of a connection of this machine, as the kernel has it.
func userOf(from, to net.Addr) (uid int, known bool, _ error) {
	near, far := inTable(from), inTable(to)
	for _, table := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		f, err := os.Open(table) //nolint:gosec // one of the two
		if err != nil {
			continue // a system without IPv6
		}
		for lines := bufio.NewScanner(f); lines.Scan(); {
			fields := strings.Fields(lines.Text())
			if len(fields) > 7 && strings.HasSuffix(fields[1], near) && strings.HasSuffix(fields[2], far) {
				uid, err = strconv.Atoi(fields[7])
				_ = f.Close()
				return uid, true, err
			}
		}
		_ = f.Close()
	}
	return 0, false, errors.New("the connection is in no table")
}

// inTable is the end of how the kernel writes an address there, also one of IPv4 in IPv6.
func inTable(a net.Addr) string {
	at, _ := netip.ParseAddrPort(a.String())
	ip := at.Addr().Unmap().As4()
	return fmt.Sprintf("%08X:%04X", binary.NativeEndian.Uint32(ip[:]), at.Port())
}
