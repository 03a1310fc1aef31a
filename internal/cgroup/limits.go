package cgroup

import (
	"fmt"
	"time"

	"github.com/toolhost/toolhost/internal/grant"
)

// A Limit names what is bounded.
type Limit string

// The limits.
const (
	Memory Limit = "memory"
	CPU    Limit = "cpu"
	PIDs   Limit = "pids"
)

// counting is the controller of version 1 that counts what a group uses of processors. Version 2 counts
// that in each group.
const counting Limit = "cpuacct"

// All are the limits.
var All = []Limit{Memory, CPU, PIDs}

// Limits bounds what the processes of a group use together. Zero: no bound.
type Limits struct {
	// Memory is in bytes, with the files that are in memory, such as those of a tmpfs, and
	// with what the kernel keeps for the processes. Nothing is moved to swap instead, if the
	// kernel counts swap. A process that needs more is killed (SIGKILL), the largest first.
	Memory int64
	// CPU is in processors, 0.01 to 65536. In each 0.1 s the processes run for that much of
	// it, on as many processors as there are, and then wait.
	CPU float64
	// PIDs counts processes and threads, of which a program written in Go has ten or so. One
	// more cannot be started (EAGAIN).
	PIDs int
}

// Bounds of [Limits.CPU], which are the kernel's.
const (
	leastCPU = 0.01
	mostCPU  = 1 << 16
)

// List returns what is bounded.
//
// # Errors
//
// A number is out of its bounds.
func (l Limits) List() ([]Limit, error) {
	if l.Memory < 0 || l.PIDs < 0 || l.CPU != 0 && !(l.CPU >= leastCPU && l.CPU <= mostCPU) {
		return nil, fmt.Errorf("limits of %d bytes, %v processors and %d processes: "+
			"none may be below 0, and processors are %v to %v", l.Memory, l.CPU, l.PIDs, leastCPU, mostCPU)
	}
	var out []Limit
	for _, line := range grant.Amounts {
		if line.IsSaid(&l) {
			out = append(out, Limit(line.Name))
		}
	}
	return out, nil
}

// Usage is what the processes of a group use together.
type Usage struct {
	CPU    time.Duration // since the group was made; 0: it is not known
	Memory int64         // without the files that the kernel can drop; 0: it is not known
	Peak   int64         // the most that it was, with such files
}

// Exceeded says what a group did not get because of its limits, since it was made.
type Exceeded struct {
	Memory    int64         // how many of its processes were killed for memory
	PIDs      int64         // how many processes or threads it could not start
	Throttled time.Duration // how long it waited for processors, added up over them
}
