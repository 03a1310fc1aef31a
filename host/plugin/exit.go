package plugin

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/toolhost/toolhost/internal/cgroup"
	"github.com/toolhost/toolhost/internal/confine"
	"github.com/toolhost/toolhost/internal/grant"
)

// ExitError says how a plugin's process ended. It is the cause of a
// [tool.CodeCrashed] error.
type ExitError struct {
	// Code is the exit status; -1 if a signal ended the process.
	Code int
	// Signal names the signal, such as "SIGKILL"; empty: none.
	Signal string
	// Stuck says that the process was killed and did not end: the system holds it, perhaps
	// in a file system that does not answer.
	Stuck bool
	// Limit names the limit of its sandbox because of which the process was ended, such as
	// "memory, 512 MiB"; empty: none.
	Limit string
	// Lost says how the connection to a server ended that is not a process of the host's.
	// Empty: it is a process.
	Lost string
}

// Error returns such as "exit status 3" or "killed by SIGKILL".
func (e *ExitError) Error() string {
	if e.Stuck {
		return "killed, but the system does not let it end (see dmesg and the file systems that it uses)"
	}
	if e.Lost != "" {
		return e.Lost
	}
	if e.Limit != "" {
		return "ended by the limit of its sandbox: " + e.Limit
	}
	if e.Signal != "" {
		return "killed by " + e.Signal
	}
	return fmt.Sprintf("exit status %d", e.Code)
}

func exitError(state *os.ProcessState) *ExitError {
	if state == nil {
		return &ExitError{Code: -1}
	}
	return &ExitError{Code: state.ExitCode(), Signal: confine.SignalName(state)}
}

// exceeded returns the limit because of which the process has ended; empty: it is another reason,
// or that is not known. A program in Go ends itself when it exceeds some of them, and says why.
func (p *process) exceeded(exit *ExitError) string {
	if p.cmd.plan == nil {
		return ""
	}
	why, limits, group := p.output.stderr.cause(), p.cmd.plan.Profile.Limits, cgroup.Exceeded{}
	if p.cmd.control != nil {
		group = p.cmd.control.Exceeded()
	}
	p.mu.Lock()
	killed := exit.Signal == "SIGKILL" && !p.killed // by the kernel, as far as is known
	p.mu.Unlock()
	noMemory := strings.HasPrefix(why, "fatal error: ") && (strings.Contains(why, "out of memory") || strings.Contains(why, "cannot allocate memory"))
	switch {
	case exit.Code == 0:
	case limits.Memory > 0 && (killed && group.Memory > 0 || noMemory):
		return "memory, " + grant.Bytes(float64(limits.Memory))
	case group.PIDs > 0 && (why == "fatal error: newosproc" || strings.HasPrefix(why, noThread)):
		return "pids, " + strconv.Itoa(limits.PIDs)
	case limits.Disk > 0 && exit.Signal == "SIGXFSZ":
		return "disk, " + grant.Bytes(float64(limits.Disk)) + " a file"
	}
	return ""
}
