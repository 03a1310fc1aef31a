package pluginrun_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/pluginrun"
	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/binaries"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// shortageVariable tells this test's binary, run again, what it is to be short of.
const shortageVariable = "PLUGIN_TEST_SHORTAGE"

// profiles are those that are each confined in a way of their own.
var profiles = map[string]plugin.Sandbox{
	"undeclared": {}, // its binary is another one, see confinedBy
	"nothing":    {},
	"write":      {Write: []string{tool.Workspace}},
	"net":        {Net: []string{"example.com:443"}},
}

// confinedBy is a plugin of a profile.
func confinedBy(t *testing.T, profile string, change ...func(*pluginrun.Config)) *pluginrun.Plugin {
	t.Helper()
	mode := boxed
	if profile == "undeclared" {
		mode = escaper
	}
	return open(t, mode, append(change, func(c *pluginrun.Config) { c.Sandbox = profiles[profile] })...)
}

// shape is how a process is confined, as far as the kernel tells others.
func shape(t *testing.T, pid int) string {
	t.Helper()
	var out []string
	for file, lines := range map[string][]string{
		"status": {"NoNewPrivs:", "Seccomp:", "Seccomp_filters:", "CapPrm:", "CapEff:", "CapAmb:"},
		"limits": {"Max open files", "Max pending signals", "Max core file size", "Max processes"},
	} {
		text := require.Must(os.ReadFile(fmt.Sprintf("/proc/%d/%s", pid, file)))(t)
		for line := range strings.Lines(string(text)) {
			if slices.ContainsFunc(lines, func(begin string) bool { return strings.HasPrefix(line, begin) }) {
				out = append(out, strings.Join(strings.Fields(line), " "))
			}
		}
	}
	for _, kind := range []string{"user", "pid", "mnt", "net", "ipc"} {
		if own(t, kind, "self") != own(t, kind, fmt.Sprint(pid)) {
			out = append(out, "its own "+kind)
		}
	}
	slices.Sort(out)
	return strings.Join(out, "\n")
}

func own(t *testing.T, kind, pid string) string {
	t.Helper()
	return require.Must(os.Readlink("/proc/" + pid + "/ns/" + kind))(t)
}

// startsInFull starts a plugin, and reports whether it runs; it is then confined as if there was no
// shortage. The end of the shortage, after, comes before the look.
func startsInFull(t *testing.T, p *pluginrun.Plugin, full string, after func()) bool {
	t.Helper()
	err := p.Ready(t.Context())
	after()
	if err != nil {
		if s := p.Status(); s.PID != 0 || s.State != plugin.Refused || !strings.Contains(err.Error(), s.Reason) {
			t.Errorf("it failed with %v, and its status is %+v", err, s)
		}
		return false
	}
	if got := shape(t, p.Status().PID); full != "" && got != full {
		t.Errorf("it runs with\n%s\ninstead of\n%s", got, full)
	}
	_ = p.Close(t.Context())
	return true
}

// inFull is the shape of a plugin that was started without a shortage.
func inFull(t *testing.T, profile string) string {
	t.Helper()
	return require.Must(shapeOf(t, profile))(t)
}

func shapeOf(t *testing.T, profile string) (string, error) {
	t.Helper()
	p := confinedBy(t, profile)
	if err := p.Ready(t.Context()); err != nil {
		return "", err
	}
	defer func() { _ = p.Close(t.Context()) }()
	return shape(t, p.Status().PID), nil
}

// Whatever step to the sandbox fails, the plugin is confined in full or not at all started.
func TestFailingStep(t *testing.T) {
	t.Parallel()
	stride := 1
	if testing.Short() {
		stride = 13
	}
	for profile := range profiles {
		t.Run(profile, func(t *testing.T) {
			t.Parallel()
			full, failed := inFull(t, profile), 0
			for step, steps := 0, 1; step < steps; step += stride {
				p := confinedBy(t, profile, func(c *pluginrun.Config) {
					pluginrun.WithFailing(c, func(all int) int { steps = all; return min(step, all-1) })
				})
				if !startsInFull(t, p, full, func() {}) {
					failed++
				}
			}
			if failed == 0 {
				t.Error("no step has failed")
			}
		})
	}
}

// short runs a test of this binary again, in a process that is to be short of something.
func short(t *testing.T, test, of string, attr *syscall.SysProcAttr) {
	t.Helper()
	dir := require.Must(os.MkdirTemp("/var/tmp", "shortage-"))(t)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	binary := filepath.Join(dir, "test")
	require.NoError(t, binaries.Copy(require.Must(os.Executable())(t), binary))
	if attr != nil && attr.Credential != nil {
		require.NoError(t, os.Chown(dir, int(attr.Credential.Uid), int(attr.Credential.Gid)))
	}
	cmd := exec.CommandContext(t.Context(), binary, "-test.run=^"+test+"$", "-test.v", fmt.Sprint("-test.short=", testing.Short()))
	cmd.Dir, cmd.SysProcAttr = dir, attr
	cmd.Env = append(os.Environ(), shortageVariable+"="+of, "TMPDIR="+dir, "HOME="+dir)
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: "+test) {
		t.Errorf("%v\n%s", err, out)
	}
}

// Of a host that has few descriptors left, a plugin is confined in full or not started, also if what
// this system has was not found out before.
func TestFewDescriptors(t *testing.T) {
	t.Parallel()
	of := os.Getenv(shortageVariable)
	if of == "" {
		for profile := range profiles {
			t.Run(profile, func(t *testing.T) {
				t.Parallel()
				if testing.Short() && profile != "net" {
					t.Skip("the profile with most descriptors is enough for a day")
				}
				short(t, "TestFewDescriptors", profile, nil)
			})
		}
		return
	}
	var limit unix.Rlimit
	require.NoError(t, unix.Getrlimit(unix.RLIMIT_NOFILE, &limit))
	full, failed := "", 0
	for free := 0; ; free++ {
		p := confinedBy(t, of, func(c *pluginrun.Config) { // go-plugin leaves its directory if it has no descriptor to remove it
			c.TempDir = require.Must(os.MkdirTemp("", "s"))(t)
		})
		next := require.Must(unix.FcntlInt(0, unix.F_DUPFD_CLOEXEC, 0))(t)
		_ = unix.Close(next)
		require.NoError(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: uint64(next + free), Max: limit.Max}))
		runs := startsInFull(t, p, full, func() { require.NoError(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &limit)) })
		switch {
		case !runs:
			failed++
		case full != "" && free > failed+5: // that many are enough
			if failed < 5 {
				t.Errorf("it failed %d times", failed)
			}
			return
		}
		if full == "" && free > 3 { // from here on, what this system has is known
			full = inFull(t, of)
		}
		if free > 200 {
			t.Fatal("it never starts")
		}
	}
}

// A user whose namespaces are used up starts no plugin that would have some, and does so again when
// there are some.
func TestNamespacesUsedUp(t *testing.T) {
	t.Parallel()
	kind := os.Getenv(shortageVariable)
	if kind == "" {
		for kind, uid := range map[string]int{"pid": 0, "user": 1000} { // in its own, root needs no user namespace
			t.Run(kind, func(t *testing.T) {
				t.Parallel()
				if !namespaced(t) {
					t.Skip("this system has no namespaces")
				}
				if testing.Short() && kind == "pid" {
					t.Skip("the kind that ordinary users have is enough for a day")
				}
				id := []syscall.SysProcIDMap{{ContainerID: uid, HostID: os.Getuid(), Size: 1}}
				short(t, "TestNamespacesUsedUp", kind, &syscall.SysProcAttr{
					Cloneflags: unix.CLONE_NEWUSER, UidMappings: id, AmbientCaps: []uintptr{unix.CAP_SYS_RESOURCE},
					GidMappings: []syscall.SysProcIDMap{{ContainerID: uid, HostID: os.Getgid(), Size: 1}},
				})
			})
		}
		return
	}
	const most = 4 // the stage needs few at a time
	setting := "/proc/sys/user/max_" + kind + "_namespaces"
	require.NoError(t, os.WriteFile(setting, []byte(fmt.Sprint(most)), 0))
	hold := func() (release func()) {
		var all []*os.File
		require.Eventually(t, "all are held", func() bool { // one that has ended is counted for a moment longer
			cmd := exec.Command("/bin/cat")
			stdin := require.Must(cmd.StdinPipe())(t)
			cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: map[string]uintptr{"pid": unix.CLONE_NEWPID, "user": unix.CLONE_NEWUSER}[kind]}
			if err := cmd.Start(); errors.Is(err, syscall.ENOSPC) {
				return false
			} else if err != nil {
				t.Fatal(err)
			}
			all = append(all, require.Must(os.Open(fmt.Sprintf("/proc/%d/ns/%s", cmd.Process.Pid, kind)))(t))
			_ = stdin.Close()
			_ = cmd.Wait()
			return len(all) == most
		})
		return func() {
			for _, f := range all {
				_ = f.Close()
			}
		}
	}
	full := map[string]string{}
	for range 2 { // at the first time, what this system has is not known
		release := hold()
		for profile := range profiles {
			p := confinedBy(t, profile)
			assert.ErrorContainsf(t, p.Ready(t.Context()), "this user has no more, user.max_*_namespaces", "%s", profile)
			if s := p.Sandbox(); full[profile] == "" && !strings.Contains(s.Fault, "cannot be found out now") {
				t.Errorf("before it is known: %+v", s)
			}
		}
		p := open(t, boxed, in(plugin.NamespaceOff)) // needs none
		require.NoError(t, p.Ready(t.Context()))
		release()
		for profile := range profiles {
			require.Eventually(t, profile+" starts", func() bool {
				return startsInFull(t, confinedBy(t, profile), full[profile], func() {})
			})
			require.Eventually(t, profile+" starts again", func() (starts bool) { // the namespaces of the first are counted for a moment longer
				got, err := shapeOf(t, profile)
				full[profile] = got
				return err == nil
			})
			assert.Containsf(t, full[profile], "its own "+kind, "%s has no namespace", profile)
		}
	}
}

// However many descriptors a plugin has sent that are not received, another one starts.
func TestDescriptorsInFlight(t *testing.T) {
	t.Parallel()
	if os.Getenv(shortageVariable) == "" {
		var attr *syscall.SysProcAttr
		if os.Geteuid() == 0 { // the kernel counts by user
			attr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		}
		short(t, "TestDescriptorsInFlight", "descriptors", attr)
		return
	}
	require.NoError(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 1200, Max: 1200}))
	for _, n := range []plugin.Namespace{plugin.NamespaceOff, plugin.NamespaceAuto} {
		holder, sent := open(t, boxed, in(n)), ""
		require.Eventually(t, "some are in flight", func() bool { // those of one that has ended are counted for a moment longer
			sent, _ = try(t, holder, "send", "")
			return sent != "0"
		})
		t.Log(n, "in flight:", sent)
		for profile := range profiles {
			if err := confinedBy(t, profile, in(n)).Ready(t.Context()); err != nil {
				t.Errorf("%s: %v", profile, err)
			}
		}
		require.NoError(t, holder.Close(t.Context()))
	}
}

// send sends descriptors that nothing receives, as many as it may, and keeps them.
func send(string) (string, error) {
	sent := 0
	for {
		pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
		for err == nil {
			if err = unix.Sendmsg(pair[0], []byte("x"), unix.UnixRights(slices.Repeat([]int{2}, 250)...), nil, 0); err == nil {
				sent += 250
			}
		}
		if !errors.Is(err, unix.EAGAIN) {
			return fmt.Sprint(sent), nil
		}
	}
}
