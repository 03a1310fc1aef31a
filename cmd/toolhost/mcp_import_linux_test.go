package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/exit"
	"github.com/toolhost/toolhost/internal/test/require"
)

// On a terminal the person accepts the levels of one server, some of another and none of a third.
func TestMCPImportOnATerminal(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.mcpConfig(map[string]any{
		"all": mcpServer("echo", "pid"), "none": mcpServer("echo"), "some": mcpServer("echo", "pid", "whoami"),
	})
	a := w.ask("plugins", "import", "mcp.json")
	at := screen{t, a.person}
	for _, step := range []struct{ prompt, answer string }{
		{"Start them, to ask for their tools? [y/N] ", "y"},
		{"Accept these levels for all? [y/N, or c to choose] ", "y"},
		{"Accept these levels for none? [y/N, or c to choose] ", ""},
		{"Accept these levels for some? [y/N, or c to choose] ", "c"},
		{"  some.echo: safe? [y/N] ", "y"},
		{"  some.pid: cautious? [y/N] ", "n"},
		{"  some.whoami: cautious? [y/N] ", "yes"},
	} {
		at.sees(step.prompt)
		at.types(step.answer)
	}
	a.answer("").exits(exit.Done).prints("servers written to ", ": 3")
	content := require.Must(os.ReadFile(w.config()))(t)
	_, levels, _ := strings.Cut(string(content), "\ntools:\n")
	for _, want := range []string{"all.echo", "all.pid", "some.echo", "some.whoami"} {
		if !strings.Contains(levels, want+": {safety: ") {
			t.Errorf("%s has no level:\n%s", want, content)
		}
	}
	for _, not := range []string{"none.", "some.pid"} {
		if strings.Contains(levels, not) {
			t.Errorf("%s was not accepted:\n%s", not, content)
		}
	}
	w.run("call", "some.whoami", "{}").exits(exit.Done)
	w.run("call", "some.pid", "{}").exits(exit.Refused)
	w.run("call", "none.echo", "{}").exits(exit.Refused)
}

// What a file of another client would run is shown before any of it has run.
func TestMCPImportStartsNothingUnseen(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	mark := filepath.Join(w.root, "ran")
	w.mcpConfig(map[string]any{"one": map[string]any{"command": "touch", "args": []string{mark}, "env": map[string]any{"HTTPS_PROXY": "http://evil"}}})
	for _, more := range [][]string{{}, {"--print"}, {"--json"}} {
		w.bare(append([]string{"plugins", "import", "mcp.json"}, more...)...).exits(exit.BadUsage).says("touch "+mark, "HTTPS_PROXY", "--yes")
	}
	a := w.ask("plugins", "import", "mcp.json")
	at := screen{t, a.person}
	at.sees("  touch " + mark)
	at.sees("with the variables HTTPS_PROXY")
	at.sees("Start them, to ask for their tools? [y/N] ")
	a.answer("n\n").exits(exit.Refused).says("nothing was started or changed")
	for _, path := range []string{mark, w.config()} {
		if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v", path, err)
		}
	}
	w.bare("plugins", "import", "mcp.json", "--yes").exits(exit.Done).says("touch " + mark)
	require.Must(os.Stat(mark))(t)
}

// A question that is interrupted, or whose terminal is closed, leaves everything as it was.
func TestMCPImportInterrupted(t *testing.T) {
	t.Parallel()
	for how, leave := range map[string]func(*asking) error{
		"by the key":    func(a *asking) error { _, err := a.person.WriteString("\x03"); return err },
		"by a signal":   func(a *asking) error { return a.cmd.Process.Signal(syscall.SIGTERM) },
		"by a hang-up":  func(a *asking) error { return a.person.Close() },
		"at the second": func(a *asking) error { _, err := a.person.WriteString("y\n"); return err },
	} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.mcpConfig(map[string]any{"one": mcpServer("echo"), "two": mcpServer("echo")})
			const before = "# mine\nlog_level: error\n"
			w.configure(strings.TrimSuffix(before, "\n"))
			a := w.ask("plugins", "import", "mcp.json", "--config", w.config())
			at := screen{t, a.person}
			at.sees("Start them, to ask for their tools? [y/N] ")
			at.types("y")
			at.sees("for one? [y/N, or c to choose] ")
			require.NoError(t, leave(a))
			if how == "at the second" {
				at.sees("for two? [y/N, or c to choose] ")
				require.Must(a.person.WriteString("\x03"))(t)
			}
			_ = a.cmd.Wait()           // the status tells
			if how != "by a hang-up" { // which may be an end by SIGHUP, as of any program
				equal(t, "the status", a.cmd.ProcessState.ExitCode(), exit.Ended)
			}
			if text, err := os.ReadFile(w.config()); err != nil || string(text) != before {
				t.Errorf("the file is %q, %v", text, err)
			}
			if _, err := os.Stat(filepath.Join(w.root, "toolhost.lock")); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("there is a lock: %v", err)
			}
		})
	}
}
