package control

import (
	"fmt"

	"github.com/toolhost/toolhost/internal/sanitize"
)

// peer is the process at the other end of a connection, as the kernel tells it.
type peer struct {
	uid int
	pid int // 0: the system does not say, or the process is out of sight
}

// String is for the record, and has what the process cannot choose: its numbers, and
// where they may be read its binary. Else there is the name that it gives itself.
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
