package control

import (
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

func peerOf(fd int) (peer, error) {
	cred, err := unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED)
	if err != nil {
		return peer{}, err
	}
	return peer{uid: int(cred.Uid), pid: int(cred.Pid)}, nil
}

// binaryOf is what a process runs; where that may not be read, as of a command that
// conceals itself, there is its name, which is its own choice.
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
