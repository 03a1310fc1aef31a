package confine

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// maxParents bounds how far the parents of a process are followed.
const maxParents = 256

// OfPlugin returns why the process at the other end of a Unix socket, as it was when it connected or
// began to listen, counts as a plugin's; empty: it does not. It counts if it lives in a PID namespace
// below this process's, has a [Brand] of another run than this process, or descends from this one,
// if that is a host; also if it has ended, as it may have handed its socket on, or
// if none of that can be found out.
//
// A process that cannot be seen from here does not count: it is in no namespace in which this process
// starts others. Nor does another user's of which nothing can be read, unless this process is root's: no
// other can make its plugins another user's.
func OfPlugin(conn syscall.Conn, host bool) (why string) {
	peer, process, err := peerOf(conn)
	switch {
	case errors.Is(err, unix.ESRCH), errors.Is(err, unix.EINVAL): // EINVAL: of SO_PEERPIDFD, before Linux 6.16
		return "the process has ended"
	case err != nil:
		return "the process cannot be looked at: " + err.Error()
	}
	if process >= 0 {
		defer func() { _ = unix.Close(process) }()
	}
	pid := int(peer.Pid)
	if pid <= 0 || pid == os.Getpid() {
		return ""
	}
	number, theirs, err := numbersIn(fmt.Sprintf("/proc/%d/status", pid))
	if process >= 0 && (err != nil || !procIsOwn()) { // it is hidden, or has another number there
		number, theirs, err = numbersIn(fmt.Sprintf("/proc/self/fdinfo/%d", process))
	}
	mine, err2 := ownDepth()
	brand, branded := brandOf(pid, func(name string) []byte {
		text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/%s", number, name))
		return text
	})
	descends, err3 := descends(number)
	foreign := os.Geteuid() != 0 && int64(peer.Uid) != int64(os.Geteuid())
	switch {
	case process >= 0 && hasEnded(process): // then all of the above may be about another one
		return "the process has ended"
	case err != nil || err2 != nil:
		return "the process cannot be looked at: " + errors.Join(err, err2).Error()
	case theirs > mine:
		return "the process lives in a PID namespace of its own"
	case branded && brand.isForeign():
		return "the process was started by a host of plugins, or by what that has started"
	case host && descends:
		return fmt.Sprintf("the process descends from process %d, which runs plugins", os.Getpid())
	case err3 != nil && !branded && !foreign:
		return "the process cannot be looked at: " + err3.Error()
	}
	return ""
}

// peerOf returns who is at the other end of a connection, and a descriptor of that process. Before
// Linux 6.5 that is of the process which has the number now; below 0: before 5.3 there is none.
func peerOf(conn syscall.Conn) (peer *unix.Ucred, process int, err error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return nil, -1, err
	}
	var asked error
	err = raw.Control(func(fd uintptr) {
		if peer, asked = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED); asked != nil {
			return
		}
		if process, asked = unix.GetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_PEERPIDFD); asked == unix.ENOPROTOOPT && peer.Pid > 0 {
			process, asked = unix.PidfdOpen(int(peer.Pid), 0)
		}
	})
	switch {
	case err == nil && asked == nil:
		return peer, process, nil
	case peer != nil && (peer.Pid <= 0 || asked == unix.ENOSYS):
		return peer, -1, nil
	}
	return nil, -1, errors.Join(err, os.NewSyscallError("look for the peer", asked))
}

// numbersIn returns the number that a process has in /proc, and in how many PID namespaces it is; 0: the
// kernel has none. The file is its status or says what a descriptor of it is; both are open to every user.
func numbersIn(file string) (number, depth int, err error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return 0, 0, err
	}
	return numbersOf(text)
}

func numbersOf(text []byte) (number, depth int, err error) {
	for line := range strings.Lines(string(text)) {
		switch words := strings.Fields(line); {
		case len(words) < 2:
		case words[0] == "Pid:":
			number, err = strconv.Atoi(words[1])
		case words[0] == "NSpid:":
			depth = len(words) - 1
		}
	}
	return number, depth, err
}

// ownDepth is in how many PID namespaces this process is.
var ownDepth = sync.OnceValues(func() (depth int, err error) {
	_, depth, err = numbersIn("/proc/self/status")
	return depth, err
})

// descends reports whether a process descends from this one, by its number in /proc. What does so stays
// below this one if it adopts orphans, and else is lost for good. So a line of parents that is the same
// when it is read again was true, whatever ended meanwhile and had its number taken.
func descends(number int) (bool, error) {
	self, err := os.Readlink("/proc/self")
	if err != nil {
		return false, err
	}
	for range 8 {
		line, err := lineOf(number, self)
		if again, err2 := lineOf(number, self); slices.Equal(line, again) {
			return len(line) > 0 && strings.HasPrefix(line[len(line)-1], self+" "), cmp.Or(err, err2)
		}
	}
	return false, errors.New("its parents change all the time")
}

// lineOf returns the numbers and starts of a process and of those that it descends from, up to a given one.
func lineOf(pid int, to string) (line []string, err error) {
	for range maxParents {
		fields, err := statOf(pid)
		if err != nil || len(fields) < 20 {
			return line, cmp.Or(err, fmt.Errorf("/proc/%d/stat has %d fields", pid, len(fields)))
		}
		line = append(line, fmt.Sprint(pid, " ", fields[19]))
		parent, err := strconv.Atoi(fields[1])
		if err != nil || strconv.Itoa(pid) == to || parent <= 1 {
			return line, err
		}
		pid = parent
	}
	return line, errors.New("it has too many parents")
}

// Parent returns the number of a process's parent.
func Parent(pid int) (int, error) {
	fields, err := statOf(pid)
	if err != nil {
		return 0, err
	}
	if len(fields) < 2 {
		return 0, fmt.Errorf("/proc/%d/stat has no parent", pid)
	}
	return strconv.Atoi(fields[1])
}
