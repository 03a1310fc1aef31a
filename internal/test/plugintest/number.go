package plugintest

import (
	"os"
	"strconv"
)

// ProcessNumber is this process's as the host knows it. In a PID namespace of its own it
// has another one, but /proc is the host's.
func ProcessNumber() int {
	if link, err := os.Readlink("/proc/self"); err == nil {
		if n, err := strconv.Atoi(link); err == nil {
			return n
		}
	}
	return os.Getpid()
}
