//go:build !linux

package main

import (
	"errors"
	"time"
)

// cpuTimes is the CPU time that this process and another have used.
func cpuTimes(int) (time.Duration, error) {
	return 0, errors.New("another process's CPU time is read on Linux only")
}
