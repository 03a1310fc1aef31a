package main

import (
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// cpuTimes is the CPU time that this process and another have used. A process's
// own clock (clock_getcpuclockid(3)) counts nanoseconds, where /proc/PID/stat
// counts hundredths of a second.
func cpuTimes(pid int) (time.Duration, error) {
	var sum time.Duration
	for _, p := range []int{os.Getpid(), pid} {
		const scheduled = 2 // CPUCLOCK_SCHED, of the whole process
		var used unix.Timespec
		if err := unix.ClockGettime(int32(^p<<3|scheduled), &used); err != nil {
			return 0, fmt.Errorf("the CPU time of process %d: %w", p, err)
		}
		sum += time.Duration(used.Nano())
	}
	return sum, nil
}
