package confine

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// runs are those of this process that have not ended, with the numbers of their first processes;
// 0: it is not known yet. Reaping what a run has left takes the lock.
var runs = struct {
	sync.Mutex
	first map[Brand]int
}{first: map[Brand]int{}}

// Begin begins a run. [Group.End] or [Group.Forget] ends it.
func (g Group) Begin() {
	runs.Lock()
	defer runs.Unlock()
	if g.Brand != 0 {
		runs.first[g.Brand] = 0
	}
}

// Forked says which process is the first of the run. It is never reaped here.
//
// # Errors
//
// What the process leaves is not found if it clears its environment.
func (g Group) Forked(pid int) error {
	runs.Lock()
	if g.Brand != 0 {
		runs.first[g.Brand] = pid
	}
	runs.Unlock()
	return g.Brand.give(pid)
}

// Forget ends a run of which the kernel has ended all processes, or that was not started.
func (g Group) Forget() {
	runs.Lock()
	defer runs.Unlock()
	delete(runs.first, g.Brand)
}

// adoptPause is how long this process waits after it has looked for orphans: who makes
// them without end must not keep it busy.
const adoptPause = 100 * time.Millisecond

// Adopt makes this process the parent of what loses its own below it (PR_SET_CHILD_SUBREAPER), so
// that no descendant gets away. Of its new children it reaps those that belong to a run, and ends
// those whose run has ended or that have changed their brand. It leaves all others alone, so that
// those that end stay as zombies until this process ends.
//
// # Errors
//
// The system's; an error if it does not list a process's children.
func Adopt() error {
	if !procIsOwn() {
		return errors.New("/proc is missing or belongs to another PID namespace")
	}
	if _, err := os.Stat("/proc/thread-self/children"); err != nil {
		return err
	}
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return os.NewSyscallError("prctl", err)
	}
	adopts.Store(true)
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, unix.SIGCHLD)
	go func() {
		for range ended {
			tend()
			time.Sleep(adoptPause)
		}
	}()
	return nil
}

// adopts reports whether [Adopt] was called: then what has a limit that this process does not
// have is a plugin's.
var adopts atomic.Bool

// tend ends and reaps those children of this process that a run has left.
func tend() {
	if !procIsOwn() {
		return
	}
	runs.Lock()
	defer runs.Unlock()
	until, firsts := time.Now().Add(adoptPause), slices.Collect(maps.Values(runs.first))
	for _, pid := range children() {
		b, known := brandOf(pid, func(name string) []byte {
			text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/%s", pid, name))
			return text
		})
		if !known || b == ownBrand() || !b.isOwn() && !adopts.Load() { // it was started for something else
			continue
		}
		first, lives := runs.first[b]
		if lives && first == 0 || slices.Contains(firsts, pid) {
			continue
		}
		if !lives {
			end(pid, until)
		}
		_, _ = unix.Wait4(pid, nil, unix.WNOHANG|unix.WALL, nil)
	}
}

// end kills a child, and waits for that until a time.
func end(pid int, until time.Time) {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return
	}
	_ = unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0)
	awaitEnd(fd, until)
}

// children are those of each of this process's threads. No thread's directory is listed: the kernel would make some fifty
// entries for it, and who waits for this process would wait until they are gone.
func children() (out []int) {
	threads, _ := os.ReadDir("/proc/self/task")
	for _, thread := range threads {
		text, _ := os.ReadFile("/proc/self/task/" + thread.Name() + "/children")
		for word := range strings.FieldsSeq(string(text)) {
			if pid, err := strconv.Atoi(word); err == nil {
				out = append(out, pid)
			}
		}
	}
	return out
}
