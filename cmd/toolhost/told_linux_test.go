package main

import (
	"bufio"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/require"
)

// A person is told once in a terminal session which daemon works for them, a program never.
func TestDaemonIsToldOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "player")
	w.serve()
	for session := range 2 {
		person, program := newTerminal(t)
		c := w.command("tools", "--plugin-dir", w.plugins)
		line := "'" + strings.Join(c.Args, "' '") + "'"
		cmd := exec.CommandContext(t.Context(), "/bin/sh", "-c", line+" --json; "+line+"; "+line+"; echo end >&2")
		cmd.Dir, cmd.Env, cmd.Stderr = c.Dir, c.Env, program
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: 2}
		require.NoError(t, cmd.Start())
		told := 0
		for lines := bufio.NewScanner(person); lines.Scan() && strings.TrimSpace(lines.Text()) != "end"; {
			if usingIt.MatchString(strings.TrimRight(lines.Text(), "\r") + "\n") {
				told++
			}
		}
		assert.NoError(t, cmd.Wait())
		if told != 1 {
			t.Errorf("in session %d it is told %d times", session, told)
		}
	}
	equal(t, "standard error of a program", w.run("tools").exits(0).stderr, "")
}
