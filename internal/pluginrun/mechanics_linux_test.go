package pluginrun_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/pluginrun"
	"github.com/toolhost/toolhost/internal/sandbox"
	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/plugintest"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// escaper is a plugin of this package's tests: it tries to leave what ends it.
const escaper plugintest.Mode = "escaper"

// descendant is the argument that makes this binary what the escaper starts.
const descendant = "descendant-of-the-escaper"

func init() {
	if len(os.Args) == 2 && os.Args[1] == descendant {
		beDescendant()
	}
	ownModes[escaper] = func() { pluginsdk.Main(escapes()...) }
}

// beDescendant tells its process number, as the host knows it, and stays.
func beDescendant() {
	number, _ := os.Readlink("/proc/self")
	fmt.Println(number)
	for {
		time.Sleep(time.Hour)
	}
}

type none struct{}

func escapes() []tool.Tool {
	return []tool.Tool{
		pluginsdk.Func("escape.session", "Starts a process in a session of its own, whose parent ends.", func(context.Context, none) (int, error) {
			r, w, err := os.Pipe()
			if err != nil {
				return 0, err
			}
			// The shell is the process between, and ends at once. The pipe is held open too.
			cmd := exec.Command("/bin/sh", "-c", `"$0" "$1" & `, "/proc/self/exe", descendant)
			exe, err := os.Executable()
			if err != nil {
				return 0, err
			}
			cmd.Args[3] = exe
			cmd.Stdout, cmd.Stderr = w, os.Stderr
			cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
			if err := cmd.Run(); err != nil {
				return 0, err
			}
			line := make([]byte, 32)
			n, err := r.Read(line)
			if err != nil {
				return 0, err
			}
			return strconv.Atoi(strings.TrimSpace(string(line[:n])))
		}, pluginsdk.Safe()),
		pluginsdk.Func("escape.group", "Joins the host's process group.", func(context.Context, none) (string, error) {
			group, err := unix.Getpgid(os.Getppid())
			if err != nil {
				return "", err
			}
			return "joined", unix.Setpgid(0, group)
		}, pluginsdk.Safe()),
		pluginsdk.Func("escape.files", "Tells what is open above standard error.", func(context.Context, none) ([]string, error) {
			links, err := filepath.Glob("/proc/self/fd/*")
			var out []string
			for _, link := range links {
				if target, err := os.Readlink(link); err == nil && len(filepath.Base(link)) > 0 && filepath.Base(link) > "2" {
					out = append(out, filepath.Base(link)+" "+target)
				}
			}
			return out, err
		}, pluginsdk.Safe()),
		pluginsdk.Func("escape.flood", "Floods standard error, and then crashes.", func(ctx context.Context, _ none) (string, error) {
			line := []byte(strings.Repeat(`{"@level":"info","@message":"water"}`+"\n", 1000))
			for end := time.Now().Add(300 * time.Millisecond); time.Now().Before(end); {
				_, _ = os.Stderr.Write(line)
			}
			_, _ = io.WriteString(os.Stderr, "last words\n")
			os.Exit(9)
			return "", nil
		}, pluginsdk.Safe()),
		pluginsdk.Func("escape.self", "Tells what /proc/self says.", func(context.Context, none) (string, error) {
			return os.Executable()
		}, pluginsdk.Safe()),
	}
}

// namespaced reports whether this machine lets the host make PID namespaces.
func namespaced(t *testing.T) bool {
	t.Helper()
	return require.Must(sandbox.Detect())(t).Namespaces()
}

func structured[T any](t *testing.T, p tool.Provider, name string) (out T) {
	t.Helper()
	require.NoError(t, json.Unmarshal(call(t, p, name, "{}").Structured, &out))
	return out
}

// each runs a test with a namespace, where it can be had, and without.
func each(t *testing.T, f func(t *testing.T, n plugin.Namespace)) {
	t.Helper()
	for _, n := range []plugin.Namespace{plugin.NamespaceAuto, plugin.NamespaceOff} {
		t.Run(string(n), func(t *testing.T) {
			t.Parallel()
			f(t, n)
		})
	}
}

func in(n plugin.Namespace) func(*pluginrun.Config) {
	return func(c *pluginrun.Config) { c.Namespace = n }
}

// awaitEnd fails the test where a process does not end.
func awaitEnd(t *testing.T, pid int) {
	t.Helper()
	require.Eventually(t, fmt.Sprintf("process %d has ended", pid), func() bool { return !alive(pid) })
}

// A process that left the group, the session and its parent has ended when Close
// returns.
func TestDescendantEndsWithClose(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, n plugin.Namespace) {
		p := open(t, escaper, in(n))
		child := structured[int](t, p, "escape.session")
		if !alive(child) || child == p.Status().PID {
			t.Fatalf("descendant %d of %d does not live", child, p.Status().PID)
		}
		assert.NoError(t, p.Close(t.Context()))
		if alive(child) {
			t.Errorf("descendant %d outlives Close", child)
		}
	})
}

func TestDescendantEndsWithCrash(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, n plugin.Namespace) {
		p := open(t, escaper, in(n))
		child := structured[int](t, p, "escape.session")
		require.NoError(t, syscall.Kill(p.Status().PID, syscall.SIGKILL))
		awaitEnd(t, child)
	})
}

// A process that left its group is still the one that is ended.
func TestProcessThatLeftItsGroupIsEnded(t *testing.T) {
	t.Parallel()
	p := open(t, escaper, in(plugin.NamespaceOff))
	call(t, p, "escape.group", "{}")
	number := p.Status().PID
	if err := syscall.Kill(number, syscall.SIGSTOP); err != nil { // so that it does not end by itself
		t.Fatal(err)
	}
	assert.NoError(t, p.Close(t.Context()))
	if alive(number) {
		t.Errorf("process %d lives on", number)
	}
}

// A stopped process answers nothing, and is ended in a bounded time.
func TestCloseEndsAStoppedProcess(t *testing.T) {
	t.Parallel()
	for _, c := range []plugin.Carrier{plugin.Stream, plugin.Socket, plugin.Unary} {
		t.Run(string(c), func(t *testing.T) {
			t.Parallel()
			p := open(t, escaper, func(cfg *pluginrun.Config) { cfg.Carrier = c })
			call(t, p, "escape.self", "{}")
			number := p.Status().PID
			require.NoError(t, syscall.Kill(number, syscall.SIGSTOP))
			begin := time.Now()
			assert.NoError(t, p.Close(t.Context()))
			if took := time.Since(begin); took > ceiling {
				t.Errorf("Close took %v", took)
			}
			if alive(number) {
				t.Errorf("process %d lives on", number)
			}
		})
	}
}

// Descriptors that a library in the host opened to be inherited are not.
func TestNoDescriptorIsInherited(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "secret")
	require.NoError(t, os.WriteFile(name, nil, 0o600))
	low, err := syscall.Open(name, syscall.O_RDONLY, 0) // no O_CLOEXEC
	require.NoError(t, err)
	high := require.Must(unix.FcntlInt(uintptr(low), unix.F_DUPFD, 700))(t)
	t.Cleanup(func() {
		for _, fd := range []int{low, high} { // the host's are as they were
			if flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err != nil || flags != 0 {
				t.Errorf("descriptor %d of the host: flags %d, error %v", fd, flags, err)
			}
			_ = syscall.Close(fd)
		}
	})
	for _, carrier := range []plugin.Carrier{plugin.Stream, plugin.Socket} {
		t.Run(string(carrier), func(t *testing.T) {
			t.Parallel()
			p := open(t, escaper, func(c *pluginrun.Config) { c.Carrier = carrier })
			for _, f := range structured[[]string](t, p, "escape.files") {
				if strings.HasSuffix(f, "/secret") {
					t.Errorf("the plugin has descriptor %s", f)
				}
			}
			if s := p.Status(); s.Carrier != carrier {
				t.Errorf("calls travel on %s, want %s", s.Carrier, carrier)
			}
		})
	}
}

// What a plugin wrote last is not lost to the limits on what it writes.
func TestLastWordsAfterAFlood(t *testing.T) {
	t.Parallel()
	p := open(t, escaper)
	ctx, cancel := context.WithTimeout(t.Context(), ceiling)
	defer cancel()
	_, err := p.Execute(ctx, tool.Call{Name: "escape.flood", Arguments: []byte("{}")})
	if e := tool.AsError(err); e.Code != tool.CodeCrashed || !strings.HasSuffix(e.Detail, "last words") {
		t.Errorf("got %v, with the last lines %q", err, e.Detail)
	}
}

// In a namespace the plugin still finds itself, and the operator sees the number
// that the rest of the machine knows.
func TestNamespace(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, n plugin.Namespace) {
		p := open(t, escaper, in(n))
		if exe := call(t, p, "escape.self", "{}").Text(); filepath.Base(exe) != string(escaper) {
			t.Errorf("the plugin thinks that it is %q", exe)
		}
		own, err := os.Readlink("/proc/self/ns/pid")
		theirs, err2 := os.Readlink(fmt.Sprintf("/proc/%d/ns/pid", p.Status().PID))
		if err != nil || err2 != nil {
			t.Fatal(err, err2)
		}
		if want := n == plugin.NamespaceAuto && namespaced(t); (own != theirs) != want {
			t.Errorf("the host is in %s, the plugin in %s; a namespace of its own: want %v", own, theirs, want)
		}
	})
}

// A start, from fork to description, and all from there to the end of Close.
func BenchmarkStart(b *testing.B) {
	for _, n := range []plugin.Namespace{plugin.NamespaceOff, plugin.NamespaceAuto} {
		b.Run(string(n), func(b *testing.B) {
			dir, tmp := b.TempDir(), shortDir(b)
			plugintest.Install(b, dir, string(escaper))
			found, _, err := pluginrun.Discover(dir)
			if err != nil || len(found) != 1 {
				b.Fatalf("found %v, %v", found, err)
			}
			var starts time.Duration
			for b.Loop() {
				p := pluginrun.New(found[0], pluginrun.Config{Root: dir, TempDir: tmp, Settings: plugin.Settings{Namespace: n}})
				require.Must(p.List(b.Context()))(b)
				starts += time.Duration(p.Status().Took)
				require.NoError(b, p.Close(b.Context()))
			}
			b.ReportMetric(float64(starts.Microseconds())/float64(b.N), "µs-start/op")
		})
	}
}
