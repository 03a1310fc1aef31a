package procs

import (
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// MaxEnviron is how much of a process's environment is read, in bytes: 2 MiB, which is
// what arguments and environment can have together unless a larger stack is allowed
// (execve(2)). A process can point its environment at any memory that it has
// (PR_SET_MM_MAP), of which zeros cost it nothing.
const MaxEnviron = 2 << 20

// maxFile bounds the other files of a process, in bytes; they are shorter by far.
const maxFile = 64 << 10

// Process is a process, known by its directory in /proc: what is read is this one's,
// whatever process gets its number. It is valid during the call of [Each] alone.
type Process struct {
	// Number is what /proc calls it. That is its number for us where /proc is of our
	// PID namespace.
	Number int
	dir    int
	buffer *[]byte
}

// Each calls f for each process, this one too, until the time is over.
func Each(until time.Time, f func(p Process)) {
	proc, err := os.Open("/proc")
	if err != nil {
		return
	}
	defer func() { _ = proc.Close() }()
	names, _ := proc.Readdirnames(-1)
	var buffer []byte
	for _, name := range names {
		number, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		if !time.Now().Before(until) {
			return
		}
		dir, err := unix.Openat(int(proc.Fd()), name, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		if err != nil {
			continue
		}
		f(Process{number, dir, &buffer})
		_ = unix.Close(dir)
	}
}

// Environ is the process's environment, at most [MaxEnviron] bytes of it, until the next
// read; nil: it is another user's, or cannot be read.
func (p Process) Environ() []byte {
	var stat unix.Stat_t
	if unix.Fstat(p.dir, &stat) != nil || int64(stat.Uid) != int64(os.Geteuid()) {
		return nil
	}
	return p.read("environ", MaxEnviron)
}

// File is one of the process's files, such as "statm", until the next read; nil: it
// cannot be read.
func (p Process) File(name string) []byte { return p.read(name, maxFile) }

// Namespace is the process's PID namespace, such as "pid:[4026531836]"; empty: it cannot
// be read.
func (p Process) Namespace() string {
	link := make([]byte, 64)
	n, err := unix.Readlinkat(p.dir, "ns/pid", link)
	if err != nil {
		return ""
	}
	return string(link[:n])
}

func (p Process) read(name string, most int) []byte {
	fd, err := unix.Openat(p.dir, name, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	defer func() { _ = unix.Close(fd) }()
	b := (*p.buffer)[:0]
	for len(b) < most {
		if len(b) == cap(b) {
			b = append(make([]byte, 0, max(4096, 4*cap(b))), b...)
		}
		n, err := unix.Read(fd, b[len(b):min(cap(b), most)])
		if err == unix.EINTR {
			continue
		}
		if err != nil || n == 0 {
			break
		}
		b = b[:len(b)+n]
	}
	*p.buffer = b
	return b
}

// Kill ends the process, which has this number for us. It returns what waits for the end,
// and has to be called; nil: there is no such process.
func (p Process) Kill(number int) (wait func(until time.Time)) {
	fd, err := unix.PidfdOpen(number, 0)
	if err != nil {
		return nil
	}
	// The number may have become another's before that. If its directory is still there, it
	// has not, and from here on the descriptor is of one process.
	if unix.Faccessat(p.dir, "stat", unix.F_OK, 0) != nil || unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0) != nil {
		_ = unix.Close(fd)
		return nil
	}
	return func(until time.Time) {
		defer func() { _ = unix.Close(fd) }()
		for left := time.Until(until); left > 0; left = time.Until(until) {
			if _, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, int(left.Milliseconds())+1); err != unix.EINTR {
				return
			}
		}
	}
}
