package control

import (
	"fmt"
	"io"
	"os"
)

// binaryOf returns the binary that a process runs; if it cannot be read, as for a command that
// conceals itself, the name that the process has chosen.
func binaryOf(pid int) (binary, name string) {
	if binary, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid)); err == nil {
		return binary, ""
	}
	f, err := os.Open(fmt.Sprintf("/proc/%d/comm", pid))
	if err != nil {
		return "", ""
	}
	defer func() { _ = f.Close() }()
	text, _ := io.ReadAll(io.LimitReader(f, 64))
	return "", string(text)
}
