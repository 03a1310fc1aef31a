package main

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/vt"
	"golang.org/x/sys/unix"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/exit"
	"github.com/toolhost/toolhost/internal/test/require"
)

// watcher is a person at a terminal on which top runs.
type watcher struct {
	t        *testing.T
	person   *os.File
	cmd      *exec.Cmd
	terminal *vt.SafeEmulator
	drawn    chan struct{} // has a token when the terminal has changed
	mu       sync.Mutex
	raw      []byte // all that was written
	before   unix.Termios
}

// watch starts top on a terminal of so many columns and rows.
func (w *world) watch(columns, rows int, env ...string) *watcher {
	w.t.Helper()
	person, program := newTerminal(w.t)
	a := &watcher{t: w.t, person: person, terminal: vt.NewSafeEmulator(columns, rows), drawn: make(chan struct{}, 1)}
	a.resize(columns, rows)
	a.before = *require.Must(unix.IoctlGetTermios(int(program.Fd()), unix.TCGETS))(w.t)
	a.cmd = w.command("top", "--plugin-dir", w.plugins)
	a.cmd.Env = append(append(a.cmd.Env, "TERM=xterm-256color", "NO_COLOR="), env...)
	a.cmd.Stdin, a.cmd.Stdout, a.cmd.Stderr, a.cmd.ExtraFiles = program, program, program, []*os.File{program}
	a.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: 3}
	require.NoError(w.t, a.cmd.Start())
	go func() { _, _ = io.Copy(person, a.terminal) }() // what the terminal answers
	go func() {
		for b := make([]byte, 64<<10); ; {
			n, err := person.Read(b)
			a.mu.Lock()
			a.raw = append(a.raw, b[:n]...)
			a.mu.Unlock()
			_, _ = a.terminal.Write(b[:n])
			select {
			case a.drawn <- struct{}{}:
			default:
			}
			if err != nil {
				return
			}
		}
	}()
	w.t.Cleanup(func() {
		_ = a.cmd.Process.Kill() // it has ended, unless the test has failed
		_ = a.terminal.InputPipe().(io.Closer).Close()
	})
	return a
}

func (a *watcher) resize(columns, rows int) {
	a.t.Helper()
	a.terminal.Resize(columns, rows)
	require.NoError(a.t, unix.IoctlSetWinsize(int(a.person.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Col: uint16(columns), Row: uint16(rows)}))
}

// sees waits until the terminal has all these texts, or has them not if they begin with !.
func (a *watcher) sees(texts ...string) {
	a.t.Helper()
	for over := time.After(time.Minute); ; {
		shown, all := ansi.Strip(a.terminal.Render()), true
		for _, text := range texts {
			text, not := strings.CutPrefix(text, "!")
			all = all && strings.Contains(shown, text) != not
		}
		if all {
			return
		}
		select {
		case <-a.drawn:
		case <-over:
			a.t.Fatalf("the person does not see %q but\n%s", texts, shown)
		}
	}
}

func (a *watcher) types(keys string) {
	a.t.Helper()
	require.Must(a.person.WriteString(keys))(a.t)
}

// ends checks that the command ends, with the terminal as it was.
func (a *watcher) ends() {
	a.t.Helper()
	if err := a.cmd.Wait(); err != nil {
		a.t.Errorf("it ends with %v", err)
	}
	after := *require.Must(unix.IoctlGetTermios(int(a.person.Fd()), unix.TCGETS))(a.t)
	if after != a.before || a.terminal.IsAltScreen() {
		a.sees("!toolhost  ")
		if after != a.before {
			a.t.Errorf("the terminal is left as %+v, not as %+v", after, a.before)
		}
	}
}

// A person sees what waits, answers it, looks at a call and a log, restarts and disables a plugin, all by keys.
func TestTopOnATerminal(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "fs", "player")
	w.configure("approvals: {ask: [queue]}")
	w.serve()
	at := w.watch(120, 40)
	at.sees("1 TOOL", "2 PLUGIN", "player", "0 run, 0 wait", "? help")

	u, _ := w.queued("call", "play.danger", "--arg", "text=one")
	at.sees("play.danger", "asked", "1 for your answer (a)")
	at.types("\r")
	at.sees("Call ", "phase              asked", "esc back")
	at.types("\x1b")
	at.sees("1 TOOL")
	at.types("a")
	at.sees(`"text": "one"`, "Run it? [y, n REASON, or nothing to leave it]")
	at.types("n use staging\n")
	(<-u.ended).exits(exit.Refused).says("Approval denied for tool: play.danger: use staging")
	at.sees("answered ", "0 run, 0 wait", "approval_d", "1 failed")

	u, q := w.queued("call", "play.danger", "--arg", "text=two")
	at.sees("1 for your answer (a)")
	at.types("a")
	at.sees(`"text": "two"`, "Run it?")
	w.run("approvals", "approve", q.ID).exits(0)
	(<-u.ended).exits(0)
	at.sees("was closed meanwhile", "0 run, 0 wait")
	at.types("a")
	at.sees("no question waits in the queue")

	at.types("/fs\r2")
	at.sees(", with fs", "! player ")
	at.types("l")
	at.sees("Log of fs", "started")
	at.types("\x1b")
	at.sees("2 PLUGIN")
	before := w.started()["fs"]
	at.types("r")
	at.sees("restart fs? y does it")
	at.types("n")
	at.sees("? help")
	at.types("r")
	at.sees("restart fs? y does it")
	at.types("y")
	at.sees("restarted fs")
	equal(t, "the starts", w.started()["fs"], before+1)
	at.types("d")
	at.sees("disable fs? y does it")
	at.types("y")
	at.sees("disabled fs")
	w.run("plugins").exits(0).prints("disabled")
	w.run("audit", "--json").exits(0).prints(`"action":"plugins disable"`, `"object":"fs"`, `"action":"plugins restart"`)

	at.types("?")
	at.sees("Keys", "ctrl+l")
	at.types("\x1b")
	at.sees("1 TOOL", ", with fs")
	at.types("\x1b")
	at.sees("!, with fs", "player")
	at.types("s")
	at.sees("sorted by CPU", "!? help")
	at.resize(20, 24)
	at.sees("too few", "!TOOL")
	at.resize(40, 10)
	at.sees("2 PLUGIN", "!CALLER")
	at.types("q")
	at.ends()
}

// Top outlives its daemon, and a signal leaves the terminal as it was. Without color there is none.
func TestTopOutlivesTheDaemon(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "player")
	s := w.serve()
	at := w.watch(80, 24, "NO_COLOR=1")
	at.sees("player", "ready")
	s.ends(syscall.SIGTERM, 0)
	at.sees("the daemon has ended; waiting for one")
	w.serve()
	at.sees("!has ended", "player")
	require.NoError(t, at.cmd.Process.Signal(syscall.SIGTERM))
	at.ends()
	at.mu.Lock()
	defer at.mu.Unlock()
	if color := regexp.MustCompile(`\x1b\[[0-9;]*m`).Find(at.raw); len(bytes.Trim(color, "\x1b[m0")) > 0 {
		t.Errorf("there is color: %q", color)
	}
}

// What no person looks at is printed.
func TestTopPrints(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "player")
	w.serve()
	w.run("call", "play.nope").exits(3)
	w.run("top").exits(0).prints("1 TOOL", "player", "play.nope", "not_found")
	var a struct {
		Ended   []struct{ Tool, Code string }
		Failed  float64 `json:"failed_total"`
		Plugins []struct{ Name, State string }
	}
	w.run("top", "--json").exits(0).json(&a)
	if len(a.Ended) != 1 || a.Ended[0].Code != "not_found" || a.Failed != 1 || len(a.Plugins) != 1 || a.Plugins[0].State != "ready" {
		t.Errorf("it prints %+v", a)
	}
}
