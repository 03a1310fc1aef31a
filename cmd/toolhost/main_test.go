package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/exit"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/session"
	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/binaries"
	"github.com/toolhost/toolhost/internal/test/require"
)

// built is a directory with the real binaries and some that are not plugins.
var built struct {
	once sync.Once
	dir  string
}

func TestMain(m *testing.M) {
	if os.Getenv(measureVariable) != "" {
		measure(os.Args[1:])
	}
	if os.Getenv(runnerVariable) != "" {
		runCommands()
	}
	status := m.Run()
	endRunners()
	if built.dir != "" {
		_ = os.RemoveAll(built.dir)
	}
	os.Exit(status)
}

// scripts are executables that are not plugins of this host. They are written
// before the first process starts: one that is open for writing cannot be run.
var scripts = map[string]string{
	"chatty":   "#!/bin/sh\necho hello\n",
	"quitter":  "#!/bin/sh\necho 'no license' >&2\nexit 3\n",
	"panicker": "#!/bin/sh\nprintf 'panic: no license\\n\\ngoroutine 1 [running]:\\nmain.main()\\n\\t/src/main.go:54 +0xca\\n' >&2\nexit 2\n",
	"future":   "#!/bin/sh\necho '1|99|unix|/nowhere|grpc'\nexec sleep 600\n",
	"leftover": "#!/bin/sh\nexit 0\n",
}

func buildAll(t *testing.T) {
	t.Helper()
	programs := []string{
		"cmd/toolhost", "plugins/buffer", "plugins/execution", "plugins/fs", "plugins/introspection",
		"cmd/toolhost/testdata/player", "cmd/toolhost/testdata/away", "cmd/toolhost/testdata/greeter", "cmd/toolhost/testdata/forecast", "cmd/toolhost/testdata/intruder", "cmd/toolhost/testdata/mcpserver",
	}
	from := binaries.Build(t, programs...)
	dir := require.Must(os.MkdirTemp("", "toolhost-test-"))(t)
	require.NoError(t, os.Chmod(dir, 0o755)) //nolint:gosec // some tests run as another user
	for _, p := range programs {
		binaries.Install(t, filepath.Join(from, filepath.Base(p)), filepath.Join(dir, filepath.Base(p)))
	}
	for name, text := range scripts {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o755)) //nolint:gosec // a program
	}
	fillStock(t, dir)
	installRunner(t, dir)
	built.dir = dir
}

// stock has plugin directories with what most worlds have. They are there before the tests begin, and for as
// long as the tests run: a link that is made or removed changes the times of a file that others share, and each
// of their commands would read the program once more, as it may have changed.
var stock = map[string]chan string{"player": make(chan string, 200), "fs": make(chan string, 40), "fs player": make(chan string, 40)}

func fillStock(t *testing.T, dir string) {
	t.Helper()
	for names, dirs := range stock {
		for n := range cap(dirs) {
			to := filepath.Join(dir, "stock", strings.ReplaceAll(names, " ", "-"), fmt.Sprintf("%03d", n)) // none begins with another
			require.NoError(t, os.MkdirAll(to, 0o755))                                                     //nolint:gosec // as plugin directories are
			for _, name := range strings.Fields(names) {
				of := filepath.Join(filepath.Dir(to), name)
				if n == 0 {
					require.NoError(t, binaries.Copy(filepath.Join(dir, name), of))
				}
				require.NoError(t, os.Link(of, filepath.Join(to, name)))
			}
			dirs <- to
		}
	}
}

// stocked takes a directory with these plugins out of the stock; empty: there is none.
func stocked(plugins []string) string {
	select {
	case dir := <-stock[strings.Join(slices.Sorted(slices.Values(plugins)), " ")]:
		return dir
	default:
		return ""
	}
}

// world is a place to use the command in as a user: a plugin directory, a
// workspace and a directory for temporary files, all its own.
type world struct {
	t       *testing.T
	plugins string
	root    string
	tmp     string
	state   string // where the audit log is
	env     []string
}

// newWorld makes a world with these plugins. When the test has ended, nothing
// of it may be left.
func newWorld(t *testing.T, plugins ...string) *world {
	t.Helper()
	built.once.Do(func() { buildAll(t) })
	if built.dir == "" {
		t.Fatal("the programs could not be built: another test says why")
	}
	// A short path: the host puts sockets there.
	tmp := require.Must(os.MkdirTemp("/tmp", "th-"))(t)
	w := &world{t: t, plugins: stocked(plugins), root: t.TempDir(), tmp: tmp, state: t.TempDir()}
	if w.plugins == "" {
		w.plugins = t.TempDir()
		for _, name := range plugins {
			w.install(name, name)
		}
	}
	for _, kv := range os.Environ() {
		if !strings.HasPrefix(kv, "TOOLHOST_") {
			w.env = append(w.env, kv)
		}
	}
	w.env = append(w.env, "TMPDIR="+tmp, "XDG_DATA_HOME="+filepath.Join(w.state, "data"), "XDG_STATE_HOME="+w.state, session.CacheVariable+"="+filepath.Join(w.state, "cache"), session.SocketVariable+"="+w.socket())
	t.Cleanup(w.leftNothing)
	return w
}

// socket is where this world's daemon is.
func (w *world) socket() string { return filepath.Join(w.tmp, "control.sock") }

// install puts one of the built binaries into the plugin directory.
func (w *world) install(binary, as string) {
	w.t.Helper()
	require.NoError(w.t, os.Link(filepath.Join(built.dir, binary), filepath.Join(w.plugins, as)))
}

// write puts a file into the workspace.
func (w *world) write(name, content string) {
	w.t.Helper()
	require.NoError(w.t, os.WriteFile(filepath.Join(w.root, name), []byte(content), 0o600))
}

// leftNothing looks for processes and files that should be gone.
func (w *world) leftNothing() {
	processes, _ := filepath.Glob("/proc/[0-9]*")
	for _, p := range processes {
		exe, _ := os.Readlink(p + "/exe")
		words, _ := os.ReadFile(p + "/cmdline")
		if strings.HasPrefix(exe, w.plugins) || bytes.Contains(words, []byte(w.plugins)) {
			w.t.Errorf("%s still runs %s (%q)", p, exe, words)
		}
	}
	left, err := os.ReadDir(w.tmp)
	if err != nil {
		w.t.Error(err)
	}
	for _, e := range left {
		w.t.Errorf("%s is left in the directory for temporary files", e.Name())
	}
	_ = os.RemoveAll(w.tmp)
}

// outcome is what a run of the command left behind for its user.
type outcome struct {
	t              *testing.T
	args           []string
	stdout, stderr string
	status         int
}

// command is the real binary on this world's plugins and workspace, without a
// terminal.
func (w *world) command(args ...string) *exec.Cmd {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	w.t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, filepath.Join(built.dir, "toolhost"), args...)
	cmd.Dir, cmd.Env, cmd.SysProcAttr = w.root, w.env, noTerminal()
	return cmd
}

// bare runs the command with nothing but these words.
func (w *world) bare(args ...string) outcome {
	w.t.Helper()
	_, ended := w.start("", args...)
	return <-ended
}

// run runs the command on this world's plugins.
func (w *world) run(args ...string) outcome {
	w.t.Helper()
	return w.bare(append(args, "--plugin-dir", w.plugins)...)
}

// runWith is run with a text on standard input.
func (w *world) runWith(stdin string, args ...string) outcome {
	w.t.Helper()
	_, ended := w.start(stdin, append(args, "--plugin-dir", w.plugins)...)
	return <-ended
}

func (w *world) finish(cmd *exec.Cmd) outcome {
	w.t.Helper()
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var failed *exec.ExitError
	if err != nil && !errors.As(err, &failed) {
		w.t.Fatal(err)
	}
	return outcome{w.t, cmd.Args[1:], stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()}
}

// measureVariable has this binary run a command and print on standard error the most memory that it
// had, in KiB. A process begins with the maximum of the one that starts it (getrusage(2)), which is
// large for the one that runs the tests.
const measureVariable = "MEASURE"

func measure(args []string) {
	cmd := exec.Command(args[0], args[1:]...) //nolint:noctx // it ends with the command
	cmd.Stdout = os.Stdout
	_ = cmd.Run() // the status tells
	fmt.Fprintln(os.Stderr, cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss)
	os.Exit(cmd.ProcessState.ExitCode())
}

// measured has a command print its memory in place of its standard error.
func (w *world) measured(cmd *exec.Cmd) *exec.Cmd {
	w.t.Helper()
	self := require.Must(os.Executable())(w.t)
	cmd.Path, cmd.Args, cmd.Env = self, append([]string{self}, append([]string{cmd.Path}, cmd.Args[1:]...)...), append(slices.Clone(cmd.Env), measureVariable+"=1")
	return cmd
}

func (o outcome) exits(status int) outcome {
	o.t.Helper()
	if o.status != status {
		o.t.Errorf("toolhost %q exits with %d, want %d\nstdout: %s\nstderr: %s", o.args, o.status, status, o.stdout, o.stderr)
	}
	return o
}

// says checks that standard error has all these texts.
func (o outcome) says(texts ...string) outcome {
	o.t.Helper()
	for _, text := range texts {
		if !strings.Contains(o.stderr, text) {
			o.t.Errorf("toolhost %q does not say %q but:\n%s", o.args, text, o.stderr)
		}
	}
	return o
}

// prints checks that standard output has all these texts.
func (o outcome) prints(texts ...string) outcome {
	o.t.Helper()
	for _, text := range texts {
		if !strings.Contains(o.stdout, text) {
			o.t.Errorf("toolhost %q does not print %q but:\n%s", o.args, text, o.stdout)
		}
	}
	return o
}

// json reads standard output, which has to be one JSON value and nothing else.
func (o outcome) json(into any) outcome {
	o.t.Helper()
	if err := json.Unmarshal([]byte(o.stdout), into); err != nil {
		o.t.Fatalf("toolhost %q does not print JSON: %v\n%s", o.args, err, o.stdout)
	}
	return o
}

func equal[T comparable](t *testing.T, what string, got, want T) {
	t.Helper()
	assert.Equalf(t, got, want, "%s", what)
}

func equalLists[T comparable](t *testing.T, what string, got, want []T) {
	t.Helper()
	assert.EqualSlicesf(t, got, want, "%s", what)
}

type broken struct{ err error }

func (b broken) Write([]byte) (int, error) { return 0, b.err }

func TestOutputCannotBeWritten(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err  error
		want int
	}{
		{syscall.ENOSPC, exit.Failed},
		{syscall.EPIPE, exit.Done}, // the reader had enough
	} {
		var stderr bytes.Buffer
		equal(t, fmt.Sprintf("the status for %v", c.err), run([]string{"version", "--json"}, strings.NewReader(""), broken{c.err}, &stderr), c.want)
		equal(t, "whether it is told", strings.Contains(stderr.String(), "could not be written"), c.want != exit.Done)
	}
}
