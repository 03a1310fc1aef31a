package host_test

import (
	"context"
	"encoding/binary"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/test/plugintest"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// maxFreeze is how long nothing of a host may run, on a machine that is busy: twenty times
// a long pause. A lease freezes one that waits for it for 45 s, a file system for ever.
const maxFreeze = 10 * time.Second

// watchPauses has garbage be collected again and again, and a plugin be called. What it
// returns ends that, and fails the test for a host that did not run for too long.
func watchPauses(t *testing.T, h *host.Host) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var all sync.WaitGroup
	repeat := func(what string, f func()) {
		all.Go(func() {
			tick := time.NewTicker(10 * time.Millisecond)
			defer tick.Stop()
			for last := time.Now(); ; last = time.Now() {
				select {
				case <-tick.C:
					f()
				case <-ctx.Done():
					return
				}
				if pause := time.Since(last); pause > maxFreeze {
					t.Errorf("%s: %v", what, pause)
				}
			}
		})
	}
	repeat("nothing of the host ran", runtime.GC)
	repeat("a call took", func() {
		if _, err := h.Execute(context.Background(), tool.Call{Name: "snoop.look"}); err != nil && ctx.Err() == nil {
			t.Errorf("the neighbour: %v", err)
		}
	})
	return func() {
		cancel()
		all.Wait()
	}
}

// freeze loads a plugin directory of which the plugin cannot be started, and returns what
// Load says.
func freeze(t *testing.T, root, dir string, opts ...host.Option) error {
	t.Helper()
	opts = append(opts, host.WithRoot(root), host.WithDefaults(func(all *plugin.Settings) {
		all.StartTimeout = 2 * time.Second
	}))
	h := require.Must(host.New(opts...))(t)
	neighbours := require.Must(host.New(host.WithRoot(t.TempDir()), host.WithDefaults(func(all *plugin.Settings) {
		all.StartTimeout = ceiling
	})))(t)
	require.Must(neighbours.Load(t.Context(), plugintest.Dir(t, plugintest.Snoop)))(t)
	stop := watchPauses(t, neighbours)
	begin := time.Now()
	_, failed := h.Load(t.Context(), dir)
	if took := time.Since(begin); took > ceiling {
		t.Errorf("Load took %v", took)
	}
	for _, h := range []*host.Host{h, neighbours} {
		if h == neighbours {
			stop()
		}
		if err := h.Close(context.Background()); err != nil {
			t.Errorf("Close: %v", err)
		}
	}
	return failed
}

// leaseOn names a file on which this test's binary takes a lease, which it never gives up.
const leaseOn = "TOOLHOST_TEST_LEASE"

func init() {
	if path := os.Getenv(leaseOn); path != "" {
		signal.Ignore(unix.SIGIO)
		f, err := os.OpenFile(path, os.O_RDWR, 0)
		if err == nil {
			_, err = unix.FcntlInt(f.Fd(), unix.F_SETLEASE, unix.F_WRLCK)
		}
		said := "leased"
		if err != nil {
			said = err.Error()
		}
		_, _ = os.Stdout.WriteString(said)
		_, _ = os.Stdin.Read(make([]byte, 1))
		os.Exit(0)
	}
}

// A write lease on a plugin's binary, or on its interpreter, holds up that plugin and
// nothing else.
func TestHostileLease(t *testing.T) { //nolint:paralleltest // it watches this process
	for _, what := range []string{"binary", "interpreter"} { //nolint:paralleltest // as above
		t.Run(what, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, string(plugintest.Fixture))
			copyTo(t, path)
			held := path
			if what == "interpreter" {
				held = filepath.Join(t.TempDir(), "interpreter")
				require.NoError(t, os.Rename(path, held))
				if err := os.WriteFile(path, []byte("#!"+held+"\n"), 0o700); err != nil { //nolint:gosec // a program
					t.Fatal(err)
				}
			}
			child(t, nil, leaseOn+"="+held).says(t, "leased")
			err := freeze(t, t.TempDir(), dir)
			if err == nil || !strings.Contains(err.Error(), "holds a lease on "+held) {
				t.Errorf("Load says %v", err)
			}
		})
	}
}

// copyTo makes a file of this test's binary that is not a link to it, as no process gets a lease
// on what runs.
func copyTo(t *testing.T, path string) {
	t.Helper()
	content := require.Must(os.ReadFile(os.Args[0]))(t)
	if err := os.WriteFile(path, content, 0o700); err != nil { //nolint:gosec // a program
		t.Fatal(err)
	}
}

// otherProcess is this test's binary as something else.
type otherProcess struct{ stdout io.Reader }

// child starts one, until the test ends.
func child(t *testing.T, files []*os.File, env ...string) *otherProcess {
	t.Helper()
	cmd := exec.Command(os.Args[0]) //nolint:noctx // the test ends it
	cmd.Env, cmd.ExtraFiles, cmd.Stderr = env, files, os.Stderr
	stdin := require.Must(cmd.StdinPipe())(t)
	stdout := require.Must(cmd.StdoutPipe())(t)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _, _, _ = stdin.Close(), cmd.Process.Kill(), cmd.Wait() })
	return &otherProcess{stdout}
}

// says waits for its word, and skips the test if it is another.
func (c *otherProcess) says(t *testing.T, word string) {
	t.Helper()
	said := make([]byte, 200)
	n := require.Must(c.stdout.Read(said))(t)
	if string(said[:n]) != word {
		t.Skipf("not on this machine: %s", said[:n])
	}
}

// hangOn makes this test's binary the server of a file system (FUSE), over descriptor 3, of
// one file, a script, or one directory, that stops to answer when it is run, or entered.
const hangOn = "TOOLHOST_TEST_HANG"

func init() {
	if mode := os.Getenv(hangOn); mode != "" {
		n, _ := strconv.ParseUint(mode, 8, 32)
		serveAndHang(os.NewFile(3, "fuse"), uint32(n))
	}
}

// What the kernel asks (linux/fuse.h).
const (
	fuseForget, fuseGetattr, fuseOpen, fuseRead, fuseRelease   = 2, 3, 14, 15, 18
	fuseFlush, fuseInit, fuseAccess, fuseInterrupt, fuseForgot = 25, 26, 34, 36, 42
)

func serveAndHang(f *os.File, mode uint32) {
	const script = "#!/bin/sh\n"
	time.AfterFunc(4*ceiling, func() { os.Exit(0) }) // who hangs on it holds its pipes
	request, opened := make([]byte, 1<<18), 0
	for {
		if _, err := unix.Read(int(f.Fd()), request); err == unix.EINTR || err == unix.ENOENT {
			continue
		} else if err != nil {
			os.Exit(0)
		}
		operation, unique := binary.NativeEndian.Uint32(request[4:]), binary.NativeEndian.Uint64(request[8:])
		var answer []any
		errno := int32(0)
		switch operation {
		case fuseForget, fuseForgot, fuseInterrupt:
			continue
		case fuseInit:
			answer = []any{uint32(7), uint32(31), uint32(0), uint32(0), uint32(0), uint32(1 << 16), uint32(1), [9]uint32{}}
		case fuseGetattr:
			answer = []any{uint64(0), uint64(0), uint64(1), uint64(len(script)), [4]uint64{1}, [3]uint32{}, mode, uint32(1), [5]uint32{}}
		case fuseAccess: // asked by chdir
			continue
		case fuseOpen:
			if opened++; opened > 1 { // by what starts the plugin, when the host has looked at it
				continue
			}
			answer = []any{uint64(1), uint64(1)} // FOPEN_DIRECT_IO
		case fuseRead:
			if binary.NativeEndian.Uint64(request[48:]) == 0 { // offset
				answer = []any{[]byte(script)}
			}
		case fuseRelease, fuseFlush:
		default:
			errno = -int32(unix.ENOSYS)
		}
		size := 16
		for _, part := range answer {
			size += binary.Size(part)
		}
		out := make([]byte, 0, size)
		for _, part := range append([]any{uint32(size), errno, unique}, answer...) {
			out, _ = binary.Append(out, binary.NativeEndian, part)
		}
		_, _ = unix.Write(int(f.Fd()), out)
	}
}

// inOwnMounts is set in the process that may mount something that hangs.
const inOwnMounts = "TOOLHOST_TEST_OWN_MOUNTS"

// A binary, or a workspace, on a file system that stops to answer holds up that plugin and
// nothing else. The test runs in a process that can be killed, in a mount namespace of its
// own, which goes with it.
func TestHostileFileSystem(t *testing.T) { //nolint:paralleltest // it watches this process
	if os.Getenv(inOwnMounts) == "" {
		ctx, cancel := context.WithTimeout(t.Context(), 4*ceiling)
		defer cancel()
		cmd := exec.CommandContext(ctx, os.Args[0], "-test.v", "-test.run=^"+t.Name()+"$")
		cmd.Env = append(os.Environ(), inOwnMounts+"=1")
		cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: unix.CLONE_NEWNS}
		cmd.WaitDelay = time.Second
		out, err := cmd.CombinedOutput()
		switch {
		case strings.Contains(string(out), "--- SKIP"), err != nil && len(out) == 0 && ctx.Err() == nil:
			t.Skipf("no file systems of a test's own here: %v\n%s", err, out)
		case err != nil:
			t.Errorf("%v: %s", err, out)
		}
		return
	}
	for what, mode := range map[string]uint32{ //nolint:paralleltest // as above
		"binary": unix.S_IFREG | 0o755, "binary that is hashed": unix.S_IFREG | 0o755, "root": unix.S_IFDIR | 0o755,
	} {
		t.Run(what, func(t *testing.T) {
			dir, root := t.TempDir(), t.TempDir()
			path := filepath.Join(dir, "script")
			if err := os.WriteFile(path, []byte("#!/bin/sh\nsleep 1000\n"), 0o700); err != nil { //nolint:gosec // a program
				t.Fatal(err)
			}
			over := path
			if what == "root" {
				over = root
			}
			fuse, err := os.OpenFile("/dev/fuse", os.O_RDWR, 0)
			if err != nil {
				t.Skip(err)
			}
			options := "fd=" + strconv.Itoa(int(fuse.Fd())) + ",user_id=0,group_id=0,rootmode=" + strconv.FormatUint(uint64(mode), 8)
			if err := unix.Mount("hanging", over, "fuse", unix.MS_NOSUID|unix.MS_NODEV, options); err != nil {
				t.Skip(err)
			}
			t.Cleanup(func() { _ = unix.Unmount(over, unix.MNT_DETACH) })
			child(t, []*os.File{fuse}, hangOn+"="+strconv.FormatUint(uint64(mode), 8))
			_ = fuse.Close()
			var opts []host.Option
			if what == "binary that is hashed" { // the host itself reads it, before it starts it
				opts = append(opts, host.WithCache(t.TempDir()))
			}
			err = freeze(t, root, dir, opts...)
			if err == nil || !strings.Contains(err.Error(), "script") {
				t.Errorf("Load says %v", err)
			}
			t.Log(err)
		})
	}
}
