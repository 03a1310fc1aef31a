package escape_test

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/binaries"
	"github.com/toolhost/toolhost/internal/test/escape"
	"github.com/toolhost/toolhost/internal/test/require"
)

// ceiling bounds what should take milliseconds, on a machine that is busy.
const ceiling = 30 * time.Second

// world is what one run of the attempts is made in.
type world struct {
	escape.World
	secret    string
	base      string // of all directories but those in /tmp and /dev/shm
	protected []string
	neighbour *victim
	*listeners

	hostSecret []byte        // what Host.Secret points to
	patience   time.Duration // how long it waits for what was done to be seen
}

func token(prefix string) string { return prefix + strings.ToLower(rand.Text()) }

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{secret: token(escape.SecretPrefix), listeners: newListeners(), base: directory(t, ground()), patience: time.Second}
	w.files(t)
	w.processes(t, w.terminal(t))
	w.sockets(t)
	w.memory(t)
	w.programs(t)
	return w
}

// directory makes one with a short path, as sockets are in it.
func directory(t *testing.T, in string) string {
	t.Helper()
	dir := require.Must(os.MkdirTemp(in, "escape-"))(t)
	t.Cleanup(func() {
		assert.NoError(t, os.RemoveAll(dir))
	})
	return dir
}

func (w *world) files(t *testing.T) {
	t.Helper()
	w.Workspace, w.Outside = filepath.Join(w.base, "workspace"), filepath.Join(w.base, "outside")
	w.Secret, w.Sealed = filepath.Join(w.Outside, "secret"), filepath.Join(w.Outside, "sealed")
	w.Tmp, w.Shm = directory(t, "/tmp"), directory(t, "/dev/shm")
	text := []byte(w.secret)
	for _, err := range []error{
		os.MkdirAll(w.scratch(), 0o700), os.Mkdir(w.Workspace, 0o700), os.MkdirAll(filepath.Join(w.Outside, "targets"), 0o700),
		os.WriteFile(filepath.Join(w.Workspace, "inside"), text, 0o600),
		os.Symlink(w.Secret, filepath.Join(w.Workspace, "out")), os.Symlink(w.Outside, filepath.Join(w.Workspace, "door")),
		os.Mkdir(filepath.Join(w.Workspace, "no-mount"), 0o700),
		os.WriteFile(w.Secret, text, 0o600), os.WriteFile(w.Sealed, text, 0),
		os.WriteFile(filepath.Join(w.Tmp, "secret"), text, 0o600), os.WriteFile(filepath.Join(w.Shm, "secret"), text, 0o600),
	} {
		require.NoError(t, err)
	}
	for _, a := range escape.Attempts() {
		if a.Proof == escape.Changes {
			w.target(t, a.Name)
		}
	}
}

// scratch is the plugin's TMPDIR if it has no other.
func (w *world) scratch() string { return filepath.Join(w.base, "tmp") }

// targetOf is the path of what an attempt is to change, and mineOf that of a file of the
// workspace that it may use up.
func (w *world) targetOf(name string) string {
	kind, _, _ := strings.Cut(name, "-")
	dir := map[string]string{"workspace": w.Workspace, "protected": w.Workspace, "user": w.Workspace, "tmp": w.Tmp, "shm": w.Shm}[kind]
	if dir == "" {
		dir = w.Outside
	}
	return filepath.Join(dir, "targets", name, "file")
}

func (w *world) mineOf(name string) string { return filepath.Join(w.Workspace, "mine", name) }

// target makes what an attempt is to change.
func (w *world) target(t *testing.T, name string) {
	t.Helper()
	target, mine := w.targetOf(name), w.mineOf(name)
	for _, err := range []error{
		os.MkdirAll(filepath.Dir(target), 0o700), os.MkdirAll(filepath.Dir(mine), 0o700),
		os.WriteFile(target, []byte("before"), 0o600), os.WriteFile(mine, []byte("mine"), 0o600),
	} {
		require.NoError(t, err)
	}
	switch {
	case name == "protected-create": // in a protected directory
		w.protected = append(w.protected, filepath.Dir(target))
	case name == "protected-missing":
		w.protected = append(w.protected, target+".new")
	case strings.HasPrefix(name, "protected-"), name == "user-unprotect":
		w.protected = append(w.protected, target)
	}
}

// state is all that can change about a target, and what can be made next to it.
func state(target string) string {
	var b strings.Builder
	for _, path := range []string{target, target + ".new"} {
		var s unix.Stat_t
		if err := unix.Lstat(path, &s); err != nil {
			fmt.Fprintln(&b, err)
			continue
		}
		text, _ := os.ReadFile(target) // of a FIFO or a directory there is none
		fmt.Fprintln(&b, s.Ino, s.Mode, s.Nlink, s.Size, s.Mtim, s.Ctim, string(text))
	}
	return b.String()
}

func (w *world) processes(t *testing.T, terminal *os.File) {
	t.Helper()
	w.neighbour = newVictim(t, w.Outside, w.secret, terminal, nil)
	w.Neighbour = w.neighbour.Victim
	w.Apart = newVictim(t, w.Outside, w.secret, nil, apart).Victim
	file := require.Must(os.CreateTemp(w.base, "host-"))(t)
	t.Cleanup(func() { _ = file.Close() })
	require.Must(file.WriteString(w.secret))(t)
	require.NoError(t, os.Remove(file.Name()))
	w.hostSecret = []byte(w.secret)
	w.Host = escape.Victim{
		PID: os.Getpid(), TID: os.Getpid(), File: int(file.Fd()), Secret: uintptr(unsafe.Pointer(&w.hostSecret[0])), Length: len(w.secret),
	}
}

func (w *world) sockets(t *testing.T) {
	t.Helper()
	w.Daemon = w.stream(t, "unix", filepath.Join(w.Outside, "daemon"))
	w.Foreign = w.stream(t, "unix", filepath.Join(w.Outside, "foreign"))
	w.Inside = w.stream(t, "unix", filepath.Join(w.Workspace, "socket"))
	w.protected = append(w.protected, w.Daemon, filepath.Join(w.Outside, "datagram"))
	w.Datagram = w.datagrams(t, "unixgram", filepath.Join(w.Outside, "datagram"), nil)
	w.Abstract = strings.TrimPrefix(w.stream(t, "unix", "@"+token("escape-")), "@")
	w.TCP = w.stream(t, "tcp4", "127.0.0.1:0")
	w.Listed = w.stream(t, "tcp4", "127.0.0.1:0")
	w.Metadata = w.stream(t, "tcp4", "127.169.254.169:0")
	w.UDP = w.datagrams(t, "udp4", "127.0.0.1:0", nil)
	w.UDPLite = w.udpLite(t)
	w.DNS = w.datagrams(t, "udp4", "127.0.0.1:0", nameServer)
	if fd, err := unix.Socket(unix.AF_INET6, unix.SOCK_STREAM, 0); err == nil {
		if unix.Bind(fd, &unix.SockaddrInet6{Addr: [16]byte{15: 1}}) == nil {
			w.TCP6 = w.stream(t, "tcp6", "[::1]:0")
		}
		_ = unix.Close(fd)
	}
}

// terminal makes one, of which it returns the side of programs.
func (w *world) terminal(t *testing.T) *os.File {
	t.Helper()
	person, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	require.NoError(t, err)
	n, err := unix.IoctlGetInt(int(person.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(person.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err != nil {
		t.Fatal(errors.Join(err, person.Close()))
	}
	w.Terminal = fmt.Sprintf("/dev/pts/%d", n)
	program, err := os.OpenFile(w.Terminal, os.O_RDWR|unix.O_NOCTTY, 0) // while it is open, so is the terminal
	if err != nil {
		t.Fatal(errors.Join(err, person.Close()))
	}
	ended := make(chan struct{})
	go func() { defer close(ended); w.listeners.terminal(person) }()
	t.Cleanup(func() { _ = program.Close(); <-ended; _ = person.Close() })
	return program
}

// memory makes what processes share without files.
func (w *world) memory(t *testing.T) {
	t.Helper()
	id := require.Must(unix.SysvShmGet(unix.IPC_PRIVATE, 4096, 0o600|unix.IPC_CREAT))(t)
	t.Cleanup(func() { _, _ = unix.SysvShmCtl(id, unix.IPC_RMID, nil) })
	text := require.Must(unix.SysvShmAttach(id, 0, 0))(t)
	copy(text, w.secret)
	require.NoError(t, unix.SysvShmDetach(text))
	w.Segment = id

	w.Queue = token("escape-")
	name, _ := unix.BytePtrFromString(w.Queue)
	attr := [8]int64{1: 1, 2: 8192} // one message of so many bytes
	fd, _, errno := unix.Syscall6(unix.SYS_MQ_OPEN, uintptr(unsafe.Pointer(name)), unix.O_CREAT|unix.O_EXCL|unix.O_RDWR|unix.O_CLOEXEC, 0o600, uintptr(unsafe.Pointer(&attr)), 0, 0)
	if errno != 0 {
		t.Fatal("mq_open: ", errno)
	}
	t.Cleanup(func() { _, _, _ = unix.Syscall(unix.SYS_MQ_UNLINK, uintptr(unsafe.Pointer(name)), 0, 0) })
	message := []byte(w.secret)
	if _, _, errno := unix.Syscall6(unix.SYS_MQ_TIMEDSEND, fd, uintptr(unsafe.Pointer(&message[0])), uintptr(len(message)), 0, 0, 0); errno != 0 {
		t.Fatal("mq_timedsend: ", errno)
	}
	_ = unix.Close(int(fd))

	w.Key = token("escape-")
	const ofUser = -4
	key := require.Must(unix.AddKey("user", w.Key, message, ofUser))(t)
	t.Cleanup(func() { _, _ = unix.KeyctlInt(unix.KEYCTL_UNLINK, key, ofUser, 0, 0) })

	for _, root := range []string{"/sys/fs/cgroup/unified", "/sys/fs/cgroup/pids", "/sys/fs/cgroup"} {
		group := filepath.Join(root, token("escape-"))
		if err := os.Mkdir(group, 0o755); err != nil { //nolint:gosec // as they are
			continue
		}
		w.CGroup = group
		t.Cleanup(func() {
			require.Eventually(t, "the processes of "+group+" have ended", func() bool {
				err := unix.Rmdir(group)
				if err != nil && !errors.Is(err, unix.EBUSY) {
					t.Error(group, err)
				}
				return !errors.Is(err, unix.EBUSY)
			})
		})
		break
	}
}

func (w *world) programs(t *testing.T) {
	t.Helper()
	plugins(t) // makes the setuid program
	w.Program, w.Unlisted, w.Setuid = "/bin/echo", "/usr/bin/printf", os.Getenv(setuidVariable)
	require.NoError(t, binaries.Copy(w.Unlisted, filepath.Join(w.Workspace, "program")))
}

// of is the world of one attempt.
func (w *world) of(a escape.Attempt) escape.World {
	its := w.World
	its.Nonce = token("n")
	its.Target, its.Mine = w.targetOf(a.Name), w.mineOf(a.Name)
	file := w.Secret
	if a.Proof == escape.Changes {
		file = its.Target
	}
	if handle, _, err := unix.NameToHandleAt(unix.AT_FDCWD, file, 0); err == nil {
		its.Handle, its.HandleType = handle.Bytes(), handle.Type()
	}
	return its
}

// outcome is how an attempt has ended, as the world shows it.
func (w *world) outcome(t *testing.T, a escape.Attempt, its escape.World, before string, said escape.Answer) escape.Answer {
	t.Helper()
	because := func(o escape.Outcome, note string) escape.Answer {
		said.Outcome, said.Note = o, note
		return said
	}
	done, wait := said.Outcome == escape.Done, time.Duration(0)
	if done { // what arrives is read by another process
		wait = w.patience
	}
	var shown bool
	switch a.Proof {
	case escape.Reads:
		shown = strings.TrimRight(said.Found, "\x00") == w.secret
	case escape.Runs:
		shown = strings.TrimSpace(said.Found) == its.Nonce
	case escape.Changes:
		shown = w.now(t, a, its) != before
	case escape.Arrives:
		shown = w.has(its.Nonce, wait)
	case escape.Signals:
		shown = w.neighbour.got(signalOf[a.Name], wait)
	default:
		return said
	}
	switch {
	case shown && !done:
		return because(escape.Done, fmt.Sprintf("it was done, and the probe says: %v", said))
	case !shown && done:
		return because(escape.Denied, "the probe says that it was done, and nothing shows it: "+said.Found)
	}
	return said
}

// now is the state of what an attempt is to change.
func (w *world) now(t *testing.T, a escape.Attempt, its escape.World) string {
	t.Helper()
	switch {
	case a.Proof != escape.Changes:
		return ""
	case strings.HasSuffix(a.Name, "memory-write") || a.Name == "vm-write":
		return w.neighbour.memory(t)
	}
	return state(its.Target)
}

// signalOf is what the neighbour gets.
var signalOf = map[string]string{
	"kill": "SIGUSR1", "kill-thread": "SIGUSR2", "kill-queue": "SIGHUP", "kill-pidfd": "SIGWINCH", "kill-owner": "SIGIO", "kill-group": "SIGALRM",
}

// left reports whether a shared memory segment of an attempt is there, and removes it.
func left(id, size int) bool {
	var d unix.SysvShmDesc
	if _, err := unix.SysvShmCtl(id, unix.IPC_STAT, &d); err != nil || int(d.Segsz) != size {
		return false
	}
	_, _ = unix.SysvShmCtl(id, unix.IPC_RMID, nil)
	return true
}
