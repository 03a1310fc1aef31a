package escape_test

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/toolhost/toolhost/internal/test/escape"
	"github.com/toolhost/toolhost/internal/test/require"
)

// victim is a process that is attacked.
type victim struct {
	escape.Victim
	in io.WriteCloser

	mu      sync.Mutex
	signals map[string]bool
	scratch chan string
	news    chan struct{}
}

// newVictim starts a process that has the secret and, if there is one, a terminal. A change
// may give it namespaces.
func newVictim(t *testing.T, dir, secret string, terminal *os.File, change func(*syscall.SysProcAttr)) *victim {
	t.Helper()
	cmd := exec.Command(probe(t), "victim") //nolint:noctx // it ends with its input
	cmd.Dir, cmd.Stderr = dir, os.Stderr
	cmd.Env = []string{"ESCAPE_SECRET=" + secret, "TMPDIR=" + dir}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if terminal != nil {
		cmd.ExtraFiles = []*os.File{terminal}
		cmd.SysProcAttr.Setctty, cmd.SysProcAttr.Ctty = true, 3
	}
	if change != nil {
		change(cmd.SysProcAttr)
	}
	in := require.Must(cmd.StdinPipe())(t)
	out := require.Must(cmd.StdoutPipe())(t)
	if err := startAsPlugin(cmd); err != nil {
		t.Fatalf("start a process to be attacked: %v", err)
	}
	lines := bufio.NewScanner(out)
	v := &victim{in: in, signals: map[string]bool{}, scratch: make(chan string), news: make(chan struct{})}
	ended := make(chan struct{})
	t.Cleanup(func() {
		_ = in.Close()
		<-ended
		if err := cmd.Wait(); err != nil {
			t.Errorf("the process that is attacked: %v", err)
		}
	})
	if !lines.Scan() {
		close(ended)
		t.Fatalf("the process to be attacked says nothing: %v", lines.Err())
	}
	if err := json.Unmarshal(lines.Bytes(), &v.Victim); err != nil {
		close(ended)
		t.Fatal(err)
	}
	v.PID = cmd.Process.Pid // its own number may be another
	go func() {
		defer close(ended)
		v.read(lines)
	}()
	return v
}

func (v *victim) read(lines *bufio.Scanner) {
	for lines.Scan() {
		what, rest, _ := strings.Cut(lines.Text(), " ")
		if what == "scratch" {
			v.scratch <- rest
			continue
		}
		v.mu.Lock()
		v.signals[rest] = true
		close(v.news)
		v.news = make(chan struct{})
		v.mu.Unlock()
	}
}

// got reports whether a signal has arrived, and waits for it for a while.
func (v *victim) got(signal string, wait time.Duration) bool {
	late := time.After(wait)
	for {
		v.mu.Lock()
		arrived, news := v.signals[signal], v.news
		v.mu.Unlock()
		if arrived || wait == 0 {
			return arrived
		}
		select {
		case <-news:
		case <-late:
			return false
		}
	}
}

// memory is the victim's scratch memory.
func (v *victim) memory(t *testing.T) string {
	t.Helper()
	require.Must(io.WriteString(v.in, "\n"))(t)
	select {
	case text := <-v.scratch:
		return text
	case <-time.After(ceiling):
		t.Fatal("the process that is attacked does not answer")
		return ""
	}
}

// kept are the rights of a plugin of root that declares nothing.
var kept = []uintptr{
	unix.CAP_CHOWN, unix.CAP_DAC_OVERRIDE, unix.CAP_FOWNER, unix.CAP_FSETID, unix.CAP_SETUID, unix.CAP_SETGID,
	unix.CAP_SETPCAP, unix.CAP_SETFCAP, unix.CAP_KILL, unix.CAP_NET_BIND_SERVICE, unix.CAP_SYS_CHROOT,
}

// startAsPlugin starts a process with no more rights than plugins have, which those of root
// would otherwise not be allowed to look at.
func startAsPlugin(cmd *exec.Cmd) error {
	started := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked: what is dropped ends with the thread
		for right := range uintptr(unix.CAP_LAST_CAP + 1) {
			if !slices.Contains(kept, right) {
				_ = unix.Prctl(unix.PR_CAPBSET_DROP, right, 0, 0, 0)
			}
		}
		started <- cmd.Start()
	}()
	return <-started
}

// apart gives a process namespaces of its own.
func apart(attr *syscall.SysProcAttr) {
	attr.Cloneflags = syscall.CLONE_NEWUSER | syscall.CLONE_NEWNET | syscall.CLONE_NEWNS | syscall.CLONE_NEWIPC | syscall.CLONE_NEWUTS
	attr.UidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getuid(), HostID: os.Getuid(), Size: 1}}
	attr.GidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getgid(), HostID: os.Getgid(), Size: 1}}
}
