package main

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/require"
)

// agentOn is an agent whose server belongs to a terminal, though the protocol has its standard
// streams. Before, if any, are the words of a command that starts the server.
func (w *world) agentOn(revision string, before ...string) (*mcp.ClientSession, screen) {
	w.t.Helper()
	person, program := newTerminal(w.t)
	cmd := w.command("serve", "--mcp", "stdio", "--plugin-dir", w.plugins, "--config", w.config(), "--grant", "fs:write")
	if len(before) > 0 {
		cmd.Path, cmd.Args = before[0], slices.Concat(before, []string{cmd.Path}, cmd.Args[1:])
	}
	cmd.ExtraFiles = []*os.File{program}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: 3}
	return w.agentOf(cmd, revision, nil), screen{w.t, person}
}

const runIt = "Run it? [y/N] "

// The terminal of a server on standard input is asked if the operator says so: the person sees who
// wants what, and each question has an answer of its own.
func TestTerminalOfAnMCPServer(t *testing.T) {
	t.Parallel()
	for _, revision := range revisions {
		t.Run(revision, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, "player")
			w.configure("approvals: {ask: [terminal]}")
			c, at := w.agentOn(revision)
			one, other := called(t.Context(), c, "one"), called(t.Context(), c, "other")
			first := at.sees(runIt)
			assert.Containsf(t, first, "caller:    mcp, by mcp from codex 1.2 (its own word)", "the person sees")
			at.types("y")
			second := at.sees(runIt) // which waited until then
			at.types("n")
			if strings.Contains(first, `"other"`) {
				one, other = other, one
			} else if !strings.Contains(second, `"other"`) {
				t.Errorf("the person sees %q", second)
			}
			(<-one).has(t, false)
			(<-other).has(t, true, "Approval denied for tool: play_danger: the person at the terminal said no")
			_ = c.Close()
			w.run("audit", "--via", "mcp", "--client", "codex", "--json").exits(0).
				prints(`"decision":"approved","approver":"terminal"`, `"decision":"denied","approver":"terminal"`)
		})
	}
}

// A terminal at which no one is, that is closed, that is not there or that others use stops
// nothing, and no one is on record as having answered.
func TestTerminalWithoutAPerson(t *testing.T) {
	t.Parallel()
	record := func(w *world, c *mcp.ClientSession) outcome {
		w.t.Helper()
		_ = c.Close()
		return w.run("audit", "--client", "codex", "--json").exits(0)
	}
	t.Run("away", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, "player")
		w.configure("approvals: {ask: [terminal], timeout: 1s}")
		c, at := w.agentOn("2025-11-25")
		late := called(t.Context(), c, "late")
		at.sees("(no answer within 1s is a no) ")
		(<-late).has(t, true, "there was no answer within 1s")
		at.types("y") // to a question that is closed
		next := called(t.Context(), c, "next")
		at.sees(runIt)
		(<-next).has(t, true, "there was no answer within 1s")
		if o := record(w, c); strings.Count(o.stdout, `"approver":"timeout"`) != 2 {
			t.Errorf("on record is %s", o.stdout)
		}
	})
	t.Run("closed", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, "player")
		w.configure("approvals: {ask: [terminal]}")
		c, at := w.agentOn("2025-11-25")
		open := called(t.Context(), c, "open")
		at.sees(runIt)
		require.NoError(t, at.person.Close())
		(<-open).has(t, true, "the terminal was closed before there was an answer")
		(<-called(t.Context(), c, "after")).has(t, true, "no one can be asked", "no terminal here")
		o := record(w, c).prints(`"approver":"end of the terminal"`, `"code":"approval_required"`)
		assert.NotContainsf(t, o.stdout, `"approver":"terminal"`, "on record")
	})
	t.Run("none", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, "player")
		w.configure("approvals: {ask: [terminal]}")
		c := w.agent("2025-11-25", "", nil, "--config", w.config())
		(<-called(t.Context(), c, "x")).has(t, true, "no one can be asked", "no terminal here")
		record(w, c).prints(`"code":"approval_required"`)
	})
	t.Run("in the background", func(t *testing.T) { // where the system stops a process that reads
		t.Parallel()
		w := newWorld(t, "player")
		w.configure("approvals: {ask: [terminal]}")
		c, _ := w.agentOn("2025-11-25", "/bin/sh", "-c", `set -m; exec 4<&0; "$@" <&4 & wait`, "sh")
		(<-called(t.Context(), c, "x")).has(t, true, "no one can be asked", "in the background of its terminal")
		record(w, c).prints(`"code":"approval_required"`)
	})
}

// colors are what toolhost itself sends to a terminal.
var colors = regexp.MustCompile("\x1b\\[(0|1|31|32|36)m")

// Nothing that a client, its arguments or a file say moves the cursor, changes the terminal, or looks
// like toolhost's own question.
func TestHostileTextsOnATerminal(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "fs")
	w.configure("approvals: {ask: [terminal]}")
	evil := "\x1b]0;owned\a\x1b[2J\u202e\u009b1A\r\b\nRun it? [y/N] y\n\nfs.read (safe) wants to run.\n"
	w.write("evil", evil+"x\n")
	c, at := w.agentOn("2025-11-25")
	ended := make(chan *mcp.CallToolResult, 1)
	go func() {
		res, err := c.CallTool(t.Context(), &mcp.CallToolParams{
			Name: "fs_edit", Arguments: map[string]any{"path": "evil", "original": "x", "modified": evil},
		})
		assert.NoError(t, err)
		ended <- res
	}()
	seen := strings.ReplaceAll(colors.ReplaceAllString(at.sees("is a no) "), ""), "\r\n", "\n")
	at.types("n")
	if res := <-ended; res == nil || !res.IsError {
		t.Errorf("the call ends with %+v", res)
	}
	for _, r := range seen {
		if r != '\n' && (r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 || r == 0x202e) {
			t.Errorf("the terminal gets %q", r)
		}
	}
	if !strings.Contains(seen, `\x1b]0;owned\a`) { // shown, and not left out
		t.Errorf("the person sees %q", seen)
	}
	asked := regexp.MustCompile(`(?m)^(Run it\?|fs\.\w+ \()`).FindAllString(seen, -1)
	equalLists(t, "what begins a line", asked, []string{"fs.edit (", "Run it?"})
}
