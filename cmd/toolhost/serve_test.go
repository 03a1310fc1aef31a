package main

import (
	"bufio"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/control"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/session"
	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
	daemonv1 "github.com/toolhost/toolhost/proto/toolhost/daemon/v1"
)

// serving is a daemon of a world.
type serving struct {
	w     *world
	cmd   *exec.Cmd
	lines chan string // of its standard error
	said  []string
}

// serve starts a daemon and waits until it is ready.
func (w *world) serve(args ...string) *serving {
	w.t.Helper()
	s := w.begin(args...)
	s.await("toolhost: ready: ")
	return s
}

// begin starts a daemon. When the test has ended, it is gone.
func (w *world) begin(args ...string) *serving {
	w.t.Helper()
	s := &serving{w: w, cmd: w.command(append([]string{"serve", "--plugin-dir", w.plugins}, args...)...), lines: make(chan string, 10000)}
	s.start()
	return s
}

// start starts the daemon.
func (s *serving) start() {
	w := s.w
	w.t.Helper()
	stderr := require.Must(s.cmd.StderrPipe())(w.t)
	require.NoError(w.t, s.cmd.Start())
	go func() {
		defer close(s.lines)
		for in := bufio.NewScanner(stderr); in.Scan(); {
			s.lines <- in.Text()
		}
	}()
	w.t.Cleanup(func() {
		if s.cmd.ProcessState == nil {
			s.ends(syscall.SIGTERM, 0)
		}
	})
}

// await waits for a line with a text.
func (s *serving) await(text string) {
	s.w.t.Helper()
	for line := range s.lines {
		s.said = append(s.said, line)
		if strings.Contains(line, text) {
			return
		}
	}
	s.w.t.Fatalf("the daemon ended and did not say %q but:\n%s", text, strings.Join(s.said, "\n"))
}

// ends sends a signal and waits for the end.
func (s *serving) ends(sig syscall.Signal, status int) {
	s.w.t.Helper()
	if err := s.cmd.Process.Signal(sig); err != nil {
		s.w.t.Error(err)
	}
	for line := range s.lines {
		s.said = append(s.said, line)
	}
	_ = s.cmd.Wait() // the status tells
	if got := s.cmd.ProcessState.ExitCode(); got != status {
		s.w.t.Errorf("the daemon exits with %d, want %d:\n%s", got, status, strings.Join(s.said, "\n"))
	}
}

// reload makes the daemon read its files again, and apply what waits with these digests.
func (w *world) reload(accept ...string) error {
	w.t.Helper()
	_, err := control.Do(w.t.Context(), w.client(), daemonv1.DaemonHandler.Reload, &daemonv1.ReloadRequest{Accept: accept})
	return err
}

// client speaks to the daemon.
func (w *world) client() *control.Client {
	w.t.Helper()
	c := require.Must(control.Dial(w.t.Context(), w.socket(), false))(w.t)
	return c
}

var usingIt = regexp.MustCompile(`(?m)^toolhost: using the daemon \(pid \d+\)\n`)

// variable are the parts of an outcome that are new each time.
var variable = regexp.MustCompile(`(?m)"(id|execution_time_ms|pid)": ("[^"]*"|[0-9.]+)|"phases": \{[^}]*\}|^(starts|tried again|uses): .*\n`)

// A command does the same through the daemon as alone.
func TestDaemonAnswersAsACommandAlone(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "fs", "player", "quitter")
	w.install("leftover", "old.bak")
	w.write("a.txt", "text <&> \u2028")
	w.write("args.json", `{"text":"from a <file>","n":1}`)
	w.run("tools").exits(0) // what the plugins serve is known from now on
	w.serve("--grant", "fs:read,fs:write", "--yes")
	for _, args := range [][]string{
		{"tools"},
		{"tools", "--json"},
		{"tools", "--max-safety", "cautious", "--category", "odd", "--category", "filesystem", "--search", "FILE"},
		{"tools", "--search", "no such thing"},
		{"tools", "show", "fs.write"},
		{"tools", "show", "fs.write", "--json"},
		{"tools", "show", "fs_write"},
		{"tools", "show", "fs.wrote"},
		{"tools", "show", "quitter.x"},
		{"tools", "--for", "openai"},
		{"tools", "--for", "mcp", "--max-safety", "safe"},
		{"plugins", "show", "stranger"},
		{"plugins", "show", "old.bak"},
		{"plugins", "show", "quitter"},
		{"call", "fs.read", `{"path":"a.txt"}`, "--grant", "fs:read"},
		{"call", "fs_read", `{"path":"a.txt"}`, "--grant", "fs:read", "--json"},
		{"call", "fs.read", `{"path":"a.txt"}`},
		{"call", "fs.read", `{"path":"a.txt"}`, "--json"},
		{"call", "fs.read", `{"path":`, "--grant", "fs:read"},
		{"call", "fs.read", `{"path":7}`, "--grant", "fs:read", "--json"},
		{"call", "fs.read", `{"path":"../x"}`, "--grant", "fs:read"},
		{"call", "fs.raed"},
		{"call", "quitter.x"},
		{"call", "play.echo", "@args.json", "--arg", "n=2", "--arg", "on=true"},
		{"call", "play.echo", "@args.json", "--json"},
		{"call", "play.echo", "--arg", "n=two"},
		{"call", "play.danger"},
		{"call", "play.danger", "--yes", "--json"},
		{"call", "play.fail"},
		{"call", "play.fail", "--json"},
		{"call", "play.nonsense"},
		{"call", "play.exit", `{"status":3}`},
		{"call", "play.blob"},
		{"call", "play.blob", "--json"},
		{"call", "play.control"},
	} {
		alone := w.run(append(args, "--no-daemon")...)
		through := w.run(append(args, "--log-level", "info")...)
		if !usingIt.MatchString(through.stderr) {
			t.Errorf("%q does not say that it uses the daemon: %s", args, through.stderr)
		}
		equal(t, fmt.Sprintf("the status of %q", args), through.status, alone.status)
		for stream, texts := range map[string][2]string{
			"output": {through.stdout, alone.stdout}, "error": {usingIt.ReplaceAllString(through.stderr, ""), alone.stderr},
		} {
			if got, want := variable.ReplaceAllString(texts[0], ""), variable.ReplaceAllString(texts[1], ""); got != want {
				t.Errorf("the standard %s of %q is\n%s\nand alone it is\n%s", stream, args, got, want)
			}
		}
	}
	if quiet := w.run("tools", "--log-level", "off").exits(0); usingIt.MatchString(quiet.stderr) {
		t.Errorf("with no log it says %s", quiet.stderr)
	}
	w.bare("__complete", "--plugin-dir", w.plugins, "call", "play.").exits(0).prints("play.echo\t")
}

// The plugins go on between commands, and their states are the daemon's.
func TestDaemonKeepsPlugins(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "player")
	w.serve()
	w.run("call", "play.echo").exits(0)
	w.run("call", "play.echo").exits(0)
	var list pluginList
	w.run("plugins", "--json").exits(0).json(&list)
	equal(t, "the state", list.Plugins[0].State, plugin.Ready)
	equal(t, "the starts", list.Plugins[0].Starts, 1)
	pid := list.Plugins[0].PID

	w.run("call", "play.wait", "--arg", "fifo="+newFIFO(t), "--timeout", "50ms").exits(7).says("play.wait", "--timeout of 50ms is over")

	w.run("plugins", "restart", "player").exits(0).prints("restarted player")
	w.run("call", "play.echo").exits(0)
	w.run("plugins", "--json").exits(0).json(&list)
	if list.Plugins[0].PID == pid || list.Plugins[0].State != plugin.Ready {
		t.Errorf("pid %d was restarted, and is now %+v", pid, list.Plugins[0])
	}
	w.run("plugins", "restart", "plaier").exits(2).says("there is no plugin plaier", "did you mean player?")
	w.run("plugins", "restart", "player", "--no-daemon").exits(6).says("no daemon is running on ", "toolhost serve")
}

func TestDaemonThatIsUnlike(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "player")
	s := w.serve()
	pid := fmt.Sprintf("working without a daemon: the one with pid %d is not used: ", s.cmd.Process.Pid)
	other := t.TempDir()
	w.run("tools", "--root", other).exits(0).prints("play.echo").says(pid + "its root is " + w.root + ", this command's " + other)
	w.run("tools", "--plugin-dir", w.root).exits(0).prints("play.echo").
		says(pid + "its plugin directory is " + w.plugins + ", this command's " + w.root + " and " + w.plugins)
	w.run("call", "play.echo", "--audit", "off").exits(0).says(pid + "--audit")
	w.run("tools", "--socket", filepath.Join(w.tmp, "none.sock")).exits(0).says("no daemon is running on " + w.tmp)
	for _, args := range [][]string{{"--no-daemon"}, {"--socket", "off"}} {
		equal(t, "standard error", w.run(append(args, "tools")...).exits(0).prints("play.echo").stderr, "")
	}
	// Another path to the same directories does not matter.
	link := filepath.Join(t.TempDir(), "link")
	require.NoError(t, os.Symlink(w.plugins, link))
	w.bare("--log-level", "info", "tools", "--plugin-dir", link, "--root", ".").exits(0).says("using the daemon")
}

// Callers get no more than the daemon's operator lets them, and are told so.
func TestDaemonGrants(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "fs", "player")
	w.write("a.txt", "text")
	w.serve("--grant", "fs:read")
	w.run("call", "fs.read", `{"path":"a.txt"}`, "--grant", "fs:read").exits(0).prints("text")
	w.run("call", "fs.read", `{"path":"a.txt"}`).exits(5).says("fs:read", "--grant")
	w.run("call", "fs.list", "--grant", "fs:read,net").exits(0)
	write := []string{"call", "fs.write", `{"path":"b.txt","content":"x"}`, "--grant", "fs:write", "--yes"}
	w.run(write...).exits(5).says("the daemon does not let the caller cli have fs:write", "toolhost serve --grant fs:write, or add --no-daemon")
	var out host.Outcome
	w.run("call", "play.danger", "--yes", "--json").exits(5).says("the daemon does not accept --yes from the caller cli", "toolhost serve --yes").json(&out)
	equal(t, "the code", out.Error.Code, tool.CodeApprovalRequired)
	if _, err := os.Stat(filepath.Join(w.root, "b.txt")); err == nil {
		t.Error("it was written")
	}
	w.run(append(write, "--no-daemon")...).exits(0)

	content := require.Must(os.ReadFile(filepath.Join(w.state, "toolhost", "audit.jsonl")))(t)
	for code, n := range map[string]int{`"code":"permission_denied"`: 2, `"code":"approval_required"`: 1} {
		equal(t, "lines with "+code, strings.Count(string(content), code), n)
	}
	w.run("audit", "verify").exits(0)
}

func TestSecondDaemon(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "player")
	s := w.serve()
	w.run("serve").exits(1).says("another daemon has the socket "+w.socket()+": process "+fmt.Sprint(s.cmd.Process.Pid)+", since 2", "with the root "+w.root,
		fmt.Sprintf("kill %d", s.cmd.Process.Pid), "--socket")
	w.run("--log-level", "info", "tools").exits(0).says("using the daemon")
	other := w.begin("--socket", filepath.Join(w.tmp, "other.sock"))
	other.await("toolhost: ready")
	other.ends(syscall.SIGTERM, 0)
}

// The socket that a killed daemon leaves behind does not matter.
func TestStaleSocket(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "player")
	w.serve().ends(syscall.SIGKILL, -1)
	if info, err := os.Lstat(w.socket()); err != nil || info.Mode().Type() != fs.ModeSocket {
		t.Fatalf("there is no socket: %v, %v", info, err)
	}
	equal(t, "standard error", w.run("tools").exits(0).prints("play.echo").stderr, "")
	w.serve()
	w.run("--log-level", "info", "call", "play.echo").exits(0).says("using the daemon")
}

func TestSocketThatCannotBe(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "player")
	dir := shortDir(t)
	file := filepath.Join(dir, "file.sock")
	require.NoError(t, os.WriteFile(file, []byte("mine"), 0o600))
	w.run("serve", "--socket", file).exits(1).says(file+" exists and is not a socket", "--socket")
	w.run("tools", "--socket", file).exits(0).prints("play.echo")
	if content, err := os.ReadFile(file); err != nil || string(content) != "mine" {
		t.Errorf("the file has %q, %v", content, err)
	}
	long := filepath.Join(w.tmp, strings.Repeat("x", 120))
	w.run("serve", "--socket", long).exits(2).says("the path of the socket has", "name a shorter one")
	w.run("tools", "--socket", long).exits(0)
	w.run("serve", "--socket", "off").exits(2).says("a daemon needs a socket")
	open := filepath.Join(dir, "open")
	require.NoError(t, os.Mkdir(open, 0o700)) //nolint:gosec // a directory
	require.NoError(t, os.Chmod(open, 0o777)) //nolint:gosec // what is to be refused
	w.run("serve", "--socket", filepath.Join(open, "s")).exits(5).says("other users may write to " + open)
	w.run("serve", "--plugin-dir", filepath.Join(w.root, "nowhere")).exits(2).says("there is no plugin directory")
	w.run("serve", "--drain", "-1s").exits(2).says("below zero")
	w.run("serve", "--grant", "?").exits(2).says("is not a valid capability")
}

// The default socket is in the user's runtime directory, which no other user can enter.
func TestDefaultSocket(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ runtime, state string }{
		"the runtime directory": {"run", "state"},
		"the state directory":   {"", "state"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, "player")
			home := filepath.Join(w.tmp, "h")
			dir := filepath.Join(home, "state", "toolhost")
			w.env = append(w.env, session.SocketVariable+"=", "XDG_STATE_HOME="+filepath.Join(home, "state"), "XDG_RUNTIME_DIR=")
			if c.runtime != "" {
				dir = filepath.Join(home, "run", "toolhost")
				w.env = append(w.env, "XDG_RUNTIME_DIR="+filepath.Join(home, "run"))
			}
			s := w.serve()
			for path, want := range map[string]fs.FileMode{dir: fs.ModeDir | 0o700, filepath.Join(dir, "control.sock"): fs.ModeSocket | 0o600, filepath.Join(dir, "control.sock.daemon"): 0o600} {
				info := require.Must(os.Lstat(path))(t)
				equal(t, "the mode of "+path, info.Mode(), want)
			}
			w.run("--log-level", "info", "tools").exits(0).says("using the daemon")
			s.ends(syscall.SIGTERM, 0)
			left, err := filepath.Glob(filepath.Join(dir, "control*"))
			if err != nil || len(left) > 0 {
				t.Errorf("it leaves %q, %v", left, err)
			}
			_ = os.RemoveAll(home)
		})
	}
}

// What the service manager is told.
func TestDaemonNotifies(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "player")
	path := filepath.Join(w.tmp, "notify")
	manager := require.Must(net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"}))(t)
	defer func() { _ = os.Remove(path) }()
	defer func() { _ = manager.Close() }()
	w.env = append(w.env, "NOTIFY_SOCKET="+path, "WATCHDOG_USEC=20000")
	messages := make(chan string, 10000)
	go func() {
		defer close(messages)
		for b := make([]byte, 100); ; {
			n, err := manager.Read(b)
			if err != nil {
				return
			}
			messages <- string(b[:n])
		}
	}()
	await := func(want string) {
		t.Helper()
		for text := range messages {
			if strings.HasPrefix(text, want) {
				return
			}
			assert.Equalf(t, text, "WATCHDOG=1", "the message is %q, want %q", text, want)
		}
	}
	s := w.serve()
	await("READY=1")
	for range 3 { // not only once
		await("WATCHDOG=1")
	}
	s.hangUp()
	if runtime.GOOS == "linux" {
		await("RELOADING=1\nMONOTONIC_USEC=")
		await("READY=1")
	}
	s.ends(syscall.SIGTERM, 0)
	await("STOPPING=1\nEXTEND_TIMEOUT_USEC=45000000")
}

// A reload takes what is new, and nothing that goes wrong ends the daemon.
func TestDaemonReloads(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "player")
	s := w.serve("--log-level", "info", "--grant", "fs:read")
	w.run("--log-level", "info", "tools", "show", "fs.read").exits(3).says("using the daemon")
	w.install("fs", "fs")
	require.NoError(t, s.cmd.Process.Signal(syscall.SIGHUP))
	s.await("reload has ended")
	w.run("--log-level", "info", "tools", "show", "fs.read").exits(0).says("using the daemon")

	away := w.plugins + "-away"
	require.NoError(t, os.Rename(w.plugins, away))
	if err := w.reload(); err == nil {
		t.Error("the directory is gone, and the reload does not say so")
	}
	w.run("--log-level", "info", "plugins").exits(0).says("using the daemon", "warning: ", w.plugins)
	w.run("call", "play.echo").exits(0)
	require.NoError(t, os.Rename(away, w.plugins))
	assert.NoError(t, w.reload())
	o := w.run("call", "fs.list", "--grant", "fs:read").exits(0)
	assert.NotContainsf(t, o.stderr, "warning", "it warns of what is over")
}

// What anybody can read of the daemon with ordinary tools.
func TestDaemonState(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "player", "quitter")
	s := w.serve()
	conn := require.Must(net.Dial("unix", w.socket()))(t)
	defer func() { _ = conn.Close() }()
	require.Must(fmt.Fprint(conn, "POST /toolhost.daemon.v1.Daemon/GetState HTTP/1.0\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"))(t)
	in := bufio.NewReader(conn)
	for line := ""; line != "\r\n"; {
		line = require.Must(in.ReadString('\n'))(t)
	}
	var answer daemonv1.GetStateResponse
	require.NoError(t, protojson.Unmarshal(require.Must(io.ReadAll(in))(t), &answer))
	state := answer.GetState()
	equal(t, "the process", int(state.GetPid()), s.cmd.Process.Pid)
	equal(t, "the version", state.GetVersion(), host.Version)
	equal(t, "the root", state.GetIdentity().GetRoot(), w.root)
	equalLists(t, "the plugin directories", state.GetIdentity().GetPluginDirs(), []string{w.plugins})
	equal(t, "the number of plugins", len(state.GetPlugins()), 2)
	equal(t, "the number of faults", len(state.GetFaults()), 1)
	equal(t, "the plugin at fault", state.GetFaults()[0].GetPlugin(), "quitter")
}
