package main

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/exit"
	"github.com/toolhost/toolhost/internal/test/require"
	"golang.org/x/sys/unix"
)

// newTerminal is a pseudo terminal: the side of the person, and that of the
// program.
func newTerminal(t *testing.T) (person, program *os.File) {
	t.Helper()
	person, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skipf("no pseudo terminals here: %v", err)
	}
	t.Cleanup(func() { _ = person.Close() })
	require.NoError(t, unix.IoctlSetPointerInt(int(person.Fd()), unix.TIOCSPTLCK, 0))
	n := require.Must(unix.IoctlGetInt(int(person.Fd()), unix.TIOCGPTN))(t)
	program = require.Must(os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0))(t)
	t.Cleanup(func() { _ = program.Close() })
	return person, program
}

// screen is a terminal as its person has it.
type screen struct {
	t      *testing.T
	person *os.File
}

// sees returns what the person sees, up to a text.
func (s screen) sees(text string) string {
	s.t.Helper()
	var seen []byte
	for b := make([]byte, 1); !bytes.HasSuffix(seen, []byte(text)); { // what comes after it is for the next
		n, err := s.person.Read(b)
		if seen = append(seen, b[:n]...); err != nil {
			s.t.Fatalf("the person sees %q, %v, and not %q", seen, err, text)
		}
	}
	return string(seen)
}

// types types a line.
func (s screen) types(line string) {
	s.t.Helper()
	if _, err := s.person.WriteString(line + "\n"); err != nil {
		s.t.Fatal(err)
	}
}

// The question is asked on the terminal that the process belongs to, though none
// of its standard streams leads there, and whether it is a daemon that wants to know.
func TestQuestionOnATerminal(t *testing.T) {
	t.Parallel()
	for answer, status := range map[string]int{"y": exit.Done, "n": exit.Refused} {
		for _, by := range []string{"alone", "by a daemon"} {
			t.Run(answer+" "+by, func(t *testing.T) {
				t.Parallel()
				w := newWorld(t, "player")
				if by != "alone" {
					w.serve()
				}
				a := w.ask("call", "play.danger", "-", "--log-level", "info")
				if asked := a.question(); !strings.Contains(asked, "play.danger (dangerous) wants to run") || !strings.Contains(asked, `"text": "from <standard> input"`) {
					t.Errorf("it asks:\n%s", asked)
				}
				o := a.answer(answer + "\n").exits(status)
				equal(t, "whether a daemon is used", usingIt.MatchString(o.stderr), by != "alone")
				if status == exit.Refused {
					o.says("Approval denied for tool: play.danger", "said no")
				}
				record := w.run("audit", "--tool", "play.danger", "--json").exits(0)
				if by == "alone" {
					record.prints(`"approver":"terminal"`)
				} else { // what it asked is not the daemon's to know
					record.prints(fmt.Sprintf(`"approver":"process %d of user %d, `, a.cmd.Process.Pid, os.Geteuid()))
				}
			})
		}
	}
}

// A person is not asked about a call that cannot succeed.
func TestNoQuestionAboutWhatWouldFail(t *testing.T) {
	t.Parallel()
	for _, by := range []string{"alone", "by a daemon"} {
		t.Run(by, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, "fs")
			grant := []string{"--grant", "fs:write"}
			if by != "alone" {
				w.serve(grant...)
			}
			w.write("file", "as it is")
			a := w.ask(append([]string{"call", "fs.edit", `{"path":"file","original":"as it was","modified":"x"}`}, grant...)...)
			a.answer("").exits(exit.Failed).says("file does not contain original")
			record := w.run("audit", "--tool", "fs.edit", "--json").exits(0).prints(`"code":"tool_failed"`)
			if strings.Contains(record.stdout, `"decision"`) || strings.Contains(record.stdout, `"approver"`) {
				t.Errorf("the record is %s", record.stdout)
			}
		})
	}
}

// What was typed before the question is not an answer to it.
func TestAnswerBeforeTheQuestion(t *testing.T) {
	t.Parallel()
	for _, by := range []string{"alone", "by a daemon"} {
		t.Run(by, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, "player")
			if by != "alone" {
				w.serve()
			}
			a := w.askAfter("y\ny\n", "call", "play.danger", "-")
			_ = a.question()
			a.answer("n\n").exits(exit.Refused).says("said no")
			a = w.askAfter("n\ny", "call", "play.danger", "-")
			_ = a.question()
			a.answer("y\n").exits(exit.Done).prints("from <standard> input")
		})
	}
}

// A question without an answer is a no after a while, and the question says so.
func TestQuestionWithoutAnswer(t *testing.T) {
	t.Parallel()
	for _, by := range []string{"alone", "by a daemon"} {
		t.Run(by, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, "player")
			w.configure("approvals: {timeout: 1s}")
			if by != "alone" {
				w.serve()
			}
			a := w.ask("call", "play.danger", "-")
			in := bufio.NewReader(a.person)
			for asked := ""; !strings.Contains(asked, "(no answer within 1s is a no)"); {
				more, err := in.ReadString(')')
				if asked += more; err != nil {
					t.Fatalf("it asks %q, %v", asked, err)
				}
			}
			a.answer("").exits(exit.Refused).says("there was no answer within 1s", "approvals.timeout")
			w.run("audit", "--tool", "play.danger", "--json").exits(0).prints(`"approver":"timeout"`)
		})
	}
}

// A plugin gets nothing from the daemon that runs it: its sandbox hides the socket, and without one the daemon refuses it.
func TestPluginAsksItsDaemon(t *testing.T) {
	t.Parallel()
	t.Run("in a sandbox", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, "player")
		w.serve()
		w.run("call", "play.visit", "--arg", "socket="+w.socket()).exits(exit.Failed).says("connection refused")
	})
	t.Run("without", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, "player")
		w.configure("defaults: {sandbox: {level: none}}")
		w.serve()
		w.run("call", "play.visit", "--arg", "socket="+w.socket()).exits(0).prints("HTTP/1.0 403 Forbidden", "belongs to a plugin", "permission_denied")
	})
}

// asking is a command on a terminal.
type asking struct {
	t              *testing.T
	person         *os.File
	cmd            *exec.Cmd
	stdout, stderr bytes.Buffer
}

// ask starts a command on a terminal, with arguments on standard input.
func (w *world) ask(args ...string) *asking {
	w.t.Helper()
	return w.askAfter("", args...)
}

// askAfter is like ask, after the person has typed a text already.
func (w *world) askAfter(typed string, args ...string) *asking {
	w.t.Helper()
	person, program := newTerminal(w.t)
	if _, err := person.WriteString(typed); err != nil {
		w.t.Fatal(err)
	}
	a := &asking{t: w.t, person: person, cmd: w.command(append(args, "--plugin-dir", w.plugins)...)}
	a.cmd.Stdin = strings.NewReader(`{"text":"from <standard> input"}`)
	a.cmd.Stdout, a.cmd.Stderr = &a.stdout, &a.stderr
	a.cmd.ExtraFiles = []*os.File{program}
	a.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: 3}
	require.NoError(w.t, a.cmd.Start())
	return a
}

// question is what the person is asked.
func (a *asking) question() string {
	a.t.Helper()
	asked := require.Must(bufio.NewReader(a.person).ReadString('?'))(a.t)
	return asked
}

// answer is what comes of an answer; empty: there is none.
func (a *asking) answer(text string) outcome {
	a.t.Helper()
	if _, err := a.person.WriteString(text); err != nil {
		a.t.Fatal(err)
	}
	_ = a.cmd.Wait() // the status tells
	return outcome{a.t, a.cmd.Args, a.stdout.String(), a.stderr.String(), a.cmd.ProcessState.ExitCode()}
}

// A question that a daemon asks has an end when the call does, and the daemon may be
// told to end while the person thinks.
func TestQuestionOfADaemonEnds(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "player")
	s := w.serve()

	a := w.ask("call", "play.danger", "-", "--timeout", "1s")
	_ = a.question()
	a.answer("").exits(exit.Ended).says("play.danger")

	a = w.ask("call", "play.danger", "-")
	_ = a.question()
	require.NoError(t, a.cmd.Process.Signal(os.Interrupt))
	a.answer("").exits(exit.Ended)

	a = w.ask("call", "play.danger", "-")
	_ = a.question()
	require.NoError(t, s.cmd.Process.Signal(syscall.SIGTERM))
	s.await("toolhost: ending")
	a.answer("y\n").exits(exit.Done).prints("from <standard> input")
	for line := range s.lines {
		s.said = append(s.said, line)
	}
	if err := s.cmd.Wait(); err != nil {
		t.Errorf("the daemon ended with %v:\n%s", err, strings.Join(s.said, "\n"))
	}
}

// A tool's own question is asked on the terminal, field by field, also by a daemon's tool, and
// its answer reaches the tool. Without a terminal the tool learns that it gets none.
func TestToolAsksOnATerminal(t *testing.T) {
	t.Parallel()
	for _, by := range []string{"alone", "by a daemon"} {
		t.Run(by, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, "player")
			if by != "alone" {
				w.serve()
			}
			a := w.ask("call", "play.ask", "{}", "--json")
			at := screen{t, a.person}
			await := func(prompt string) { t.Helper(); at.sees(prompt) }
			await("Tool play.ask of plugin player asks: What shall I play?")
			await("name - of the piece")
			await(": ")
			for _, step := range []struct{ typed, prompt string }{{"waltz", "loud [none]: "}, {"yes", "Send it? [y/n] "}} {
				at.types(step.typed)
				await(step.prompt)
			}
			o := a.answer("y\n").exits(exit.Done).prints(`"content": "accept waltz true"`)
			equal(t, "whether standard output is JSON alone", strings.HasPrefix(o.stdout, "{"), true)
			w.run("call", "play.ask", "{}").exits(exit.Unavailable).says("cannot answer questions")
		})
	}
}
