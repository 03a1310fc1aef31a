package confine

import (
	"os"
	"strconv"
	"strings"
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

// Process is a process, known by its directory in /proc: what is read is about this one,
// whichever process gets its number. It is valid only during the call of [Each].
type Process struct {
	// Number is what /proc calls it: its number for system calls too, unless /proc belongs
	// to another PID namespace.
	Number int
	dir    int
	buffer *[]byte
}

// Each calls f with each process that /proc shows, this one included, until the time is
// over. What another process can choose, such as the size of its environment, costs the
// reader a bounded amount.
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

// Environ returns the process's environment, at most [MaxEnviron] bytes of it, valid until
// the next read; nil: the process is another user's, or cannot be read.
func (p Process) Environ() []byte {
	var stat unix.Stat_t
	if unix.Fstat(p.dir, &stat) != nil || int64(stat.Uid) != int64(os.Geteuid()) {
		return nil
	}
	return p.read("environ", MaxEnviron)
}

// isHere reports whether the process is in this one's PID namespace, also if it conceals itself: of
// those that can be seen, only those in one below are in more of them.
func (p Process) isHere() bool {
	_, theirs, err := numbersOf(p.File("status"))
	mine, err2 := ownDepth()
	return procIsOwn() && err == nil && err2 == nil && theirs == mine
}

// File returns one of the process's files, such as "statm", valid until the next read; nil:
// it cannot be read.
func (p Process) File(name string) []byte { return p.read(name, maxFile) }

// Namespace returns the process's PID namespace, such as "pid:[4026531836]"; empty: it
// cannot be read.
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

// isZombie reports whether the process has ended and is not reaped.
func (p Process) isZombie() bool {
	fields := fieldsOf(p.File("stat"))
	if len(fields) > 0 && fields[0] != "Z" {
		return false
	}
	lives, _ := hasThreads(p.Number)
	return !lives
}

// number is the process's number for the system calls of this process, which is not what
// /proc calls it where that belongs to another PID namespace; 0: it has none, or has ended.
func (p Process) number() int {
	if procIsOwn() {
		return p.Number
	}
	if p.Namespace() != ownNamespace() {
		return 0
	}
	for line := range strings.Lines(string(p.File("status"))) {
		if numbers, ok := strings.CutPrefix(line, "NSpid:"); ok {
			fields := strings.Fields(numbers) // from the outermost namespace to its own
			if len(fields) == 0 {
				return 0
			}
			n, _ := strconv.Atoi(fields[len(fields)-1])
			return n
		}
	}
	return 0
}

// kill kills the process, which has this number for system calls. The function that it
// returns waits for the end, and has to be called; nil: there is no such process, or it has ended.
func (p Process) kill(number int) (wait func(until time.Time)) {
	fd, err := unix.PidfdOpen(number, 0)
	if err != nil {
		return nil
	}
	// The number may have become another's before that. If the directory is still there, it
	// has not, and from here on the descriptor is of one process.
	if hasEnded(fd) || unix.Faccessat(p.dir, "stat", unix.F_OK, 0) != nil || unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0) != nil {
		_ = unix.Close(fd)
		return nil
	}
	return func(until time.Time) { awaitEnd(fd, until) }
}

// awaitEnd waits for the end of a process until a time, and closes its descriptor.
func awaitEnd(fd int, until time.Time) {
	defer func() { _ = unix.Close(fd) }()
	poll := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
	for left := time.Until(until); left > 0; left = time.Until(until) {
		if _, err := unix.Poll(poll, int(left.Milliseconds())+1); err != unix.EINTR {
			return
		}
	}
}

// hasEnded reports whether a process has ended, of which this is a descriptor.
func hasEnded(fd int) bool {
	n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 0) //nolint:gosec // small
	return n > 0 || err != nil && err != unix.EINTR
}
