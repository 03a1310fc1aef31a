//go:build linux && (amd64 || arm64)

package sandbox

import (
	"golang.org/x/sys/unix"

	"github.com/toolhost/toolhost/internal/stage"
)

// hardLimit returns what this process may have.
func hardLimit(resource int) uint64 {
	have := unix.Rlimit{Max: 1024}
	_ = unix.Getrlimit(resource, &have)
	return have.Max
}

// files returns how many descriptors the process may have: no more than this one.
func (l Limits) files() uint64 {
	have := hardLimit(unix.RLIMIT_NOFILE)
	if l.Files > 0 {
		return min(uint64(l.Files), have)
	}
	return have
}

// limit sets a limit, so that the process cannot raise it.
func limit(p *stage.Program, what string, resource int, soft, hard uint64) {
	p.Call("limit "+what, unix.SYS_PRLIMIT64, 0, uintptr(resource), p.Struct(soft, hard), 0)
}

// applyLimits sets the limits that each process has for itself (getrlimit(2)), but for that of
// descriptors, see [Plan.run]. RLIMIT_AS is not used: the Go runtime reserves more than it takes.
func applyLimits(p *stage.Program, l Limits, memory bool) {
	if signals := uint64(l.Signals); signals > 0 { //nolint:gosec // above 0
		limit(p, "signals", unix.RLIMIT_SIGPENDING, signals, signals)
	}
	limit(p, "core dumps", unix.RLIMIT_CORE, 0, 0)
	if l.Disk > 0 {
		limit(p, "the size of files", unix.RLIMIT_FSIZE, uint64(l.Disk), uint64(l.Disk)) //nolint:gosec // above 0
	}
	if l.Memory > 0 && memory {
		limit(p, "data", unix.RLIMIT_DATA, uint64(l.Memory), uint64(l.Memory)) //nolint:gosec // above 0
	}
}
