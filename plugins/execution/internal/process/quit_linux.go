package process

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

// quit tells a process and its group to quit. A thread that runs gets the signal: the Go
// runtime shows the stack of a running goroutine only on the thread that got it.
func quit(pid int) {
	tasks := filepath.Join("/proc", strconv.Itoa(pid), "task")
	threads, _ := os.ReadDir(tasks)
	for _, thread := range threads {
		stat, _ := os.ReadFile(filepath.Join(tasks, thread.Name(), "stat"))
		id, err := strconv.Atoi(thread.Name())
		end := bytes.LastIndexByte(stat, ')') // of the name, which the state follows
		if err == nil && end > 0 && bytes.HasPrefix(stat[end:], []byte(") R")) {
			_ = unix.Tgkill(pid, id, unix.SIGQUIT)
			break
		}
	}
	_ = unix.Kill(-pid, unix.SIGQUIT)
}
