package main

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/approval"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/exit"
	"github.com/toolhost/toolhost/internal/test/require"
)

// queued starts a command, and returns the question that it puts into the daemon's queue.
func (w *world) queued(args ...string) (*underway, approval.Question) {
	w.t.Helper()
	known := map[string]bool{}
	found := make(chan approval.Question, 1)
	followed := make(chan error, 1)
	c := w.client()
	open := require.Must(c.Approvals(w.t.Context()))(w.t)
	for _, q := range open {
		known[q.ID] = true
	}
	errFound := errors.New("found")
	go func() {
		err := c.FollowApprovals(w.t.Context(), func(q approval.Question) error {
			if q.State != approval.Waiting || known[q.ID] {
				return nil
			}
			found <- q
			return errFound
		})
		if !errors.Is(err, errFound) {
			followed <- err
		}
	}()
	process, ended := w.start("", append(args, "--plugin-dir", w.plugins)...)
	select {
	case q := <-found:
		return &underway{t: w.t, process: process, ended: ended}, q
	case o := <-ended:
		w.t.Fatalf("it ended, and nothing was asked: %s%s", o.stdout, o.stderr)
	case err := <-followed:
		w.t.Fatal(err)
	}
	return nil, approval.Question{}
}

// A question waits until the operator has answered it, once; the call gets the answer, and the
// record says who gave it.
func TestApprovals(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "player", "fs")
	w.configure("approvals: {ask: [queue]}")
	w.serve("--grant", "fs:write")
	w.run("approvals").exits(0).says("no questions wait")
	var none []approval.Question
	w.run("approvals", "--json").exits(0).json(&none)

	u, q := w.queued("call", "play.danger", "--arg", "text=one")
	w.run("approvals").exits(0).prints("ID ", q.ID, "play.danger", "cli", `{"text":"one"}`)
	w.run("approvals", "list", "--json").exits(0).prints(`"id": "`+q.ID+`"`, `"state": "waiting"`)
	w.run("approvals", "show", q.ID).exits(0).prints("question:      "+q.ID, "play.danger (dangerous)", `"text": "one"`, "more\n")
	w.run("status").exits(1).prints("problem: questions wait for your answer: 1")
	w.bare("__complete", "approvals", "approve", "").exits(0).prints(q.ID + "\tplay.danger of cli")
	w.run("approvals", "approve", q.ID).exits(0).prints("approved " + q.ID)
	w.run("approvals", "deny", q.ID).exits(exit.Failed).says("was approved by process ", "ago")
	(<-u.ended).exits(0).prints("one")
	w.run("audit", "--tool", "play.danger", "--json").exits(0).
		prints(`"decision":"approved"`, `"approver":"process `, fmt.Sprintf(" of user %d, ", os.Geteuid()))

	u, q = w.queued("call", "play.danger", "--arg", "text=two", "--json")
	w.run("approvals", "deny", q.ID, "--reason", "use the other\x1b[2J one").exits(0).prints("denied " + q.ID)
	(<-u.ended).exits(exit.Refused).prints("approval_denied", `use the other\\x1b[2J one`)
	w.run("approvals", "show", q.ID).exits(0).prints("denied by process ", "use the other")

	// The preview is that of the plugin, and about a call that would fail no one is asked.
	w.write("file", "old\n")
	u, q = w.queued("call", "fs.edit", `{"path":"file","original":"old","modified":"new"}`, "--grant", "fs:write")
	w.run("approvals", "show", q.ID).exits(0).prints("preview, as the plugin tells it:", "\n    -old\n    +new\n")
	w.run("approvals", "approve", q.ID).exits(0)
	(<-u.ended).exits(0)
	w.run("call", "fs.edit", `{"path":"file","original":"old","modified":"new"}`, "--grant", "fs:write").exits(exit.Failed)

	// The caller takes its question away.
	u, q = w.queued("call", "play.danger", "--arg", "text=three")
	require.NoError(t, u.process.Signal(os.Interrupt))
	(<-u.ended).exits(exit.Ended)
	w.run("approvals", "approve", q.ID).exits(exit.Failed).says("was withdrawn")
	w.run("approvals", "approve", "nope").exits(exit.BadUsage).says("no question has the ID")
	w.run("approvals", "approve").exits(exit.BadUsage)
}

// A question is denied after its time, when its tool changes, and when the daemon ends.
func TestApprovalsThatEnd(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "player")
	w.configure("approvals: {ask: [queue], timeout: 1s}")
	s := w.serve()
	u, q := w.queued("call", "play.danger", "--arg", "text=late")
	(<-u.ended).exits(exit.Refused).says("there was no answer within 1s")
	w.run("approvals", "approve", q.ID).exits(exit.Failed).says("has expired")

	w.configure("approvals: {ask: [queue]}")
	w.run("reload").exits(0)
	u, _ = w.queued("call", "play.danger", "--arg", "text=x")
	w.configure("approvals: {ask: [queue]}", "tools: {play.danger: {timeout: 7s}}")
	w.run("reload").exits(0)
	(<-u.ended).exits(exit.Refused).says("the tool play.danger has changed while the question waited")
	u, q = w.queued("call", "play.danger", "--arg", "text=x")
	w.configure("approvals: {ask: [queue]}", "tools: {play.danger: {disable: true}}")
	w.run("reload").exits(0)
	(<-u.ended).exits(exit.Refused).says("the tool play.danger was removed while the question waited")
	w.run("approvals", "approve", q.ID).exits(exit.Failed).says("was denied by change of the tool")
	w.configure("approvals: {ask: [queue]}")
	w.run("reload").exits(0)

	u, _ = w.queued("call", "play.danger", "--arg", "text=x")
	s.ends(syscall.SIGTERM, 0)
	(<-u.ended).exits(exit.Refused).says("the daemon ended before the operator answered")
	w.run("approvals").exits(exit.Unavailable).says("no daemon is running")
	w.run("call", "play.danger", "--arg", "text=x").exits(exit.Refused).says("no daemon runs that could keep the question", "toolhost serve")
	w.run("audit", "--tool", "play.danger", "--json").exits(0).
		prints(`"approver":"timeout"`, `"approver":"change of the tool"`, `"approver":"end of the daemon"`)
}

// A host of its own, such as that of an MCP server on stdio, puts its questions into the queue of the
// daemon with the same settings.
func TestApprovalsOfAnotherProcess(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "player")
	w.configure("approvals: {ask: [client, queue]}")
	s := w.serve()
	own := []string{"call", "play.danger", "--arg", "text=own", "--audit", w.state + "/own.jsonl"}
	u, q := w.queued(own...)
	w.run("approvals", "show", q.ID).exits(0).prints(`"text": "own"`)
	w.run("approvals", "approve", q.ID).exits(0)
	(<-u.ended).exits(0).prints("own")
	w.run("audit", "--json", "--file", w.state+"/own.jsonl").exits(0).prints(`"decision":"approved"`, `"approver":"process `)

	u, q = w.queued(own...)
	w.run("approvals", "deny", q.ID, "--reason", "no").exits(0)
	(<-u.ended).exits(exit.Refused).says("Approval denied for tool: play.danger: no")

	u, q = w.queued(own...)
	require.NoError(t, u.process.Kill())
	<-u.ended
	for o := w.run("approvals", "show", q.ID); !strings.Contains(o.stdout, "withdrawn"); o = w.run("approvals", "show", q.ID) {
		o.exits(0)
	}

	u, _ = w.queued(own...)
	s.ends(syscall.SIGKILL, -1)
	(<-u.ended).exits(exit.Refused).says("the daemon ended before the operator answered")
	w.run(own...).exits(exit.Refused).says("no daemon runs that could keep the question")
	w.serve() // which clears up, and so does the start of a plugin
	w.run("call", "play.echo").exits(0)
	w.run("approvals").exits(0).says("no questions wait")
}

// What comes and how it ends is shown as it happens.
func TestApprovalsFollow(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "player")
	w.configure("approvals: {ask: [queue]}")
	w.serve()
	cmd := w.command("approvals", "--follow", "--json")
	out := require.Must(cmd.StdoutPipe())(t)
	require.NoError(t, cmd.Start())
	lines := bufio.NewScanner(out)
	sees := func(texts ...string) {
		t.Helper()
		lines.Scan()
		for _, text := range texts {
			if !strings.Contains(lines.Text(), text) {
				t.Fatalf("it prints %q, without %s", lines.Text(), text)
			}
		}
	}
	u, q := w.queued("call", "play.danger", "--arg", "text=x")
	sees(`"id":"`+q.ID+`"`, `"state":"waiting"`, `"text":"x"`)
	w.run("approvals", "approve", q.ID).exits(0)
	sees(`"id":"`+q.ID+`"`, `"state":"approved"`, `"by":"process `)
	(<-u.ended).exits(0)
	require.NoError(t, cmd.Process.Signal(os.Interrupt))
	for lines.Scan() {
		t.Errorf("it prints %q after its end", lines.Text())
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("an interrupt ends it with %v", err)
	}
}
