package process

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

// quit tells a process to quit. The thread that has run longest gets the signal, if it runs:
// the Go runtime shows the stack of a running goroutine only on the thread that got it.
func quit(pid int) {
	if thread := busiest(pid); thread > 0 && unix.Tgkill(pid, thread, unix.SIGQUIT) == nil {
		return
	}
	_ = unix.Kill(pid, unix.SIGQUIT)
}

// busiest returns the thread of a process that runs and has run longest; 0 if none runs.
func busiest(pid int) (thread int) {
	tasks := filepath.Join("/proc", strconv.Itoa(pid), "task")
	threads, _ := os.ReadDir(tasks)
	most := -1
	for _, t := range threads {
		stat, _ := os.ReadFile(filepath.Join(tasks, t.Name(), "stat"))
		// The state and the times follow the name, which may have spaces.
		fields := bytes.Fields(stat[max(0, bytes.LastIndexByte(stat, ')')):])
		id, err := strconv.Atoi(t.Name())
		if err != nil || len(fields) < 14 || string(fields[1]) != "R" {
			continue
		}
		user, _ := strconv.Atoi(string(fields[12]))
		system, _ := strconv.Atoi(string(fields[13]))
		if user+system > most {
			thread, most = id, user+system
		}
	}
	return thread
}
