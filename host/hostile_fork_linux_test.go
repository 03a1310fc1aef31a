package host_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/toolhost/toolhost/internal/confine"
	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/hostile"
	"github.com/toolhost/toolhost/internal/test/plugintest"
	"github.com/toolhost/toolhost/internal/test/require"
)

// hostProcesses is a variable with the limit of processes (RLIMIT_NPROC) of a host that is
// a process of its own. Such a host needs some threads when its plugin has done its worst.
const hostProcesses = "TOOLHOST_TEST_PROCESSES"

func limitProcesses() {
	limit := os.Getenv(hostProcesses)
	if limit == "" {
		return
	}
	n, _ := strconv.ParseUint(limit, 10, 64)
	if err := unix.Setrlimit(unix.RLIMIT_NPROC, &unix.Rlimit{Cur: n, Max: n}); err != nil {
		panic(err)
	}
}

// needThreads does what many callers would have the runtime do.
func needThreads() {
	if os.Getenv(hostProcesses) == "" {
		return
	}
	var begun, all sync.WaitGroup
	done := make(chan struct{})
	for range 32 {
		begun.Add(1)
		all.Go(func() {
			runtime.LockOSThread() // and with it ends the thread
			begun.Done()
			<-done
		})
	}
	begun.Wait()
	close(done)
	all.Wait()
}

// A plugin that takes all the processes that its user can have leaves some to its host,
// which could not live without. (Not of root's, whom the limit does not bind.)
func TestHostileForkBomb(t *testing.T) {
	t.Parallel()
	dir := openDir(t)
	h := newOtherHost(t, dir)
	uid := os.Geteuid()
	if uid == 0 { // a user who has no other processes
		uid = 61000 + os.Getpid()%1000
		h.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: 65534}}
		for _, path := range []string{h.tmp, h.root} {
			require.NoError(t, os.Chown(path, uid, 65534))
		}
		for path := h.root; path != os.TempDir() && path != "/"; path = filepath.Dir(path) {
			if err := os.Chmod(path, 0o755); err != nil { //nolint:gosec // the user has to get there
				t.Fatal(err)
			}
		}
	}
	plugintest.Install(t, dir, string(hostile.ForkBomb))
	h.Path = plugintest.InstallSelf(t, openDir(t), "host")
	if err := exec.CommandContext(t.Context(), "/bin/sh", "-c", "sleep 0").Run(); err != nil {
		t.Skip("no shell here:", err)
	}
	h.Dir = dir
	h.Env = append(h.Env, hostProcesses+"="+strconv.Itoa(threadsOf(uid)+300))
	h.begin(t)
	assert.Containsf(t, strings.ToLower(h.Result), "fork", "it came to no limit: %+v", h.told)
	h.end(t)
	require.Eventually(t, "its processes are gone", func() bool { return len(h.plugins()) == 0 })
}

// threadsOf counts the threads of a user, as the limit does.
func threadsOf(uid int) (n int) {
	confine.Each(time.Now().Add(ceiling), func(p confine.Process) {
		for line := range strings.Lines(string(p.File("status"))) {
			if of, ok := strings.CutPrefix(line, "Uid:"); ok && strings.Fields(of)[0] != strconv.Itoa(uid) {
				return
			}
			if of, ok := strings.CutPrefix(line, "Threads:"); ok {
				threads, _ := strconv.Atoi(strings.TrimSpace(of))
				n += threads
			}
		}
	})
	return n
}
