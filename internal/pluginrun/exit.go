package pluginrun

import (
	"os"
	"strconv"
	"strings"

	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/cgroup"
	"github.com/toolhost/toolhost/internal/confine"
	"github.com/toolhost/toolhost/internal/grant"
)

func exitError(state *os.ProcessState) *plugin.ExitError {
	if state == nil {
		return &plugin.ExitError{Code: -1}
	}
	return &plugin.ExitError{Code: state.ExitCode(), Signal: confine.SignalName(state)}
}

// exceeded returns the limit because of which the process has ended; empty: it is another reason,
// or that is not known. A program in Go ends itself when it exceeds some of them, and says why.
func (p *process) exceeded(exit *plugin.ExitError) string {
	if p.cmd.plan == nil || exit.Code == 0 {
		return ""
	}
	why, limits, group := p.output.stderr.cause(), p.cmd.plan.Profile.Limits, cgroup.Exceeded{}
	p.mu.Lock()
	killed := exit.Signal == "SIGKILL" && !p.killed // by the kernel, as far as is known
	p.mu.Unlock()
	if p.cmd.control != nil && (killed || why != "") {
		group = p.cmd.control.Exceeded()
	}
	noMemory := strings.HasPrefix(why, "fatal error: ") &&
		(strings.Contains(why, "out of memory") || strings.Contains(why, "cannot allocate memory"))
	switch {
	case limits.Memory > 0 && (killed && group.Memory > 0 || noMemory):
		return "memory, " + grant.Bytes(float64(limits.Memory))
	case group.PIDs > 0 && (why == "fatal error: newosproc" || strings.HasPrefix(why, noThread)):
		return "pids, " + strconv.Itoa(limits.PIDs)
	case limits.Disk > 0 && exit.Signal == "SIGXFSZ":
		return "disk, " + grant.Bytes(float64(limits.Disk)) + " a file"
	}
	return ""
}
