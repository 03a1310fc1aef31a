package control

import (
	"fmt"

	"github.com/toolhost/toolhost/internal/sanitize"
)

// peer is the process at the other end of a connection, as the kernel identifies it.
type peer struct {
	uid int
	pid int // 0: the system does not say, or the process is not visible
}

// String returns a text for the audit log. It contains what the process cannot choose: its
// numbers and, if it can be read, its binary. Otherwise it contains the name that the process
// gives itself.
func (p peer) String() string {
	if p.pid == 0 {
		return fmt.Sprintf("a process of user %d", p.uid)
	}
	binary, name := binaryOf(p.pid)
	switch {
	case binary != "":
		return fmt.Sprintf("process %d of user %d, %s", p.pid, p.uid, sanitize.Line(binary, 160))
	case name != "":
		return fmt.Sprintf("process %d of user %d, named %s", p.pid, p.uid, sanitize.Quote(name, 32))
	}
	return fmt.Sprintf("process %d of user %d", p.pid, p.uid)
}
