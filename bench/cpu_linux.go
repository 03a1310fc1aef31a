package main

import (
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// cpuTime is the CPU time that a process has used. Its own clock
// (clock_getcpuclockid(3)) counts nanoseconds, where /proc/PID/stat counts
// hundredths of a second.
func cpuTime(pid int) (time.Duration, error) {
	const scheduled = 2 // CPUCLOCK_SCHED, of the whole process
	var used unix.Timespec
	if err := unix.ClockGettime(int32(^pid<<3|scheduled), &used); err != nil {
		return 0, fmt.Errorf("the CPU time of process %d: %w", pid, err)
	}
	return time.Duration(used.Nano()), nil
}
