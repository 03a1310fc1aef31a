package main

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"

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
	if err := unix.IoctlSetPointerInt(int(person.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(int(person.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	program, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = program.Close() })
	return person, program
}

// The question is asked on the terminal that the process belongs to, though none
// of its standard streams leads there.
func TestQuestionOnATerminal(t *testing.T) {
	t.Parallel()
	for answer, status := range map[string]int{"y": exitDone, "n": exitRefused} {
		t.Run(answer, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, "player")
			person, program := newTerminal(t)
			cmd := w.command("call", "play.danger", "-", "--plugin-dir", w.plugins)
			cmd.Stdin = strings.NewReader(`{"text":"from standard input"}`)
			var stdout, stderr bytes.Buffer
			cmd.Stdout, cmd.Stderr = &stdout, &stderr
			cmd.ExtraFiles = []*os.File{program}
			cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: 3}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			asked, err := bufio.NewReader(person).ReadString('?')
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(asked, "play.danger (dangerous) wants to run") || !strings.Contains(asked, `"text": "from standard input"`) {
				t.Errorf("it asks:\n%s", asked)
			}
			if _, err := person.WriteString(answer + "\n"); err != nil {
				t.Fatal(err)
			}
			_ = cmd.Wait() // the status tells
			o := outcome{t, cmd.Args, stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()}
			o.exits(status)
			if status == exitRefused {
				o.says("Approval denied for tool: play.danger", "said no")
			}
		})
	}
}
