package cgroup

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// kernel is what changes the tree. Tests of version 2 have one of their own, as few machines
// have its controllers to spare.
type kernel interface {
	mkdir(path string) error
	rmdir(path string) error
	write(path, text string) error
	attribute(path, name string) string // an extended one; empty: there is none
}

type realKernel struct{}

func (realKernel) mkdir(path string) error { return os.Mkdir(path, 0o755) }

func (realKernel) rmdir(path string) error {
	if err := unix.Rmdir(path); err != nil {
		return &os.PathError{Op: "rmdir", Path: path, Err: err}
	}
	return nil
}

func (realKernel) write(path, text string) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	_ = f.Close() // what was wrong, the write has said
	return err
}

func (realKernel) attribute(path, name string) string {
	value := make([]byte, 16)
	n, err := unix.Getxattr(path, name, value)
	if err != nil {
		return ""
	}
	return string(value[:n])
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// numbers returns the processes of a cgroup.procs; 0 is one of another PID namespace.
func numbers(dir string) ([]int, error) {
	text, err := os.ReadFile(filepath.Join(dir, procs))
	if err != nil {
		return nil, err
	}
	var out []int
	for field := range strings.FieldsSeq(string(text)) {
		n, err := strconv.Atoi(field)
		if err != nil {
			return nil, err
		}
		out = append(out, n)
	}
	return out, nil
}

// counter returns a number of a file of lines such as "oom_kill 3"; 0: there is none.
func counter(path, name string) int64 {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0
	}
	for l := range strings.Lines(string(text)) {
		if fields := strings.Fields(l); len(fields) == 2 && fields[0] == name {
			n, _ := strconv.ParseInt(fields[1], 10, 64)
			return n
		}
	}
	return 0
}
