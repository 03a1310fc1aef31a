package pluginrun

import (
	"os"
	"os/exec"
	"strconv"

	"golang.org/x/sys/unix"
)

const (
	spare   = 64   // what is closed beyond the open descriptors: another thread may open some before the fork
	unknown = 1023 // the highest open descriptor if the system does not tell
	forFork = 8    // what is left to the fork itself below the limit
)

// closeOthers makes the process of a command close all descriptors but its three and those
// in ExtraFiles: libraries in the host may have opened some to be inherited. That happens
// between fork and exec, in the process's own table, where a missing file means that its
// number is closed. (Marking the host's as close-on-exec instead would break code that
// does want to hand them on.)
func closeOthers(cmd *exec.Cmd) {
	below := highestDescriptor() + 1 + spare
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err == nil && limit.Cur < 1<<30 {
		below = min(below, int(limit.Cur)-forFork)
	}
	if missing := below - 3 - len(cmd.ExtraFiles); missing > 0 {
		cmd.ExtraFiles = append(cmd.ExtraFiles, make([]*os.File, missing)...)
	}
}

// highestDescriptor returns the highest number of an open descriptor.
func highestDescriptor() int {
	highest := 2
	dir, err := os.Open("/dev/fd")
	if err != nil {
		return unknown
	}
	defer func() { _ = dir.Close() }()
	names, _ := dir.Readdirnames(-1)
	for _, name := range names {
		if n, err := strconv.Atoi(name); err == nil {
			highest = max(highest, n)
		}
	}
	return highest
}
