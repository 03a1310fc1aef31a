package main

import (
	"os"
	"syscall"
	"testing"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/exit"
	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/require"
)

// A process of a plugin cannot see questions, nor answer or put one.
func TestPluginAnswersItsOwnQuestion(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "player")
	w.configure("approvals: {ask: [queue]}\ndefaults: {sandbox: {level: none}}") // which would hide the socket
	w.serve()
	u, q := w.queued("call", "play.danger", "--arg", "text=x")
	for _, request := range []string{"ListApprovals", "GetApproval", "DecideApproval", "Ask"} {
		args := []string{"--arg", "socket=" + w.socket(), "--arg", "request=" + request, "--arg", `body={"id":"` + q.ID + `","verdict":"allow"}`}
		o := w.run(append([]string{"call", "play.visit"}, args...)...).exits(0).prints("HTTP/1.0 403 Forbidden", "belongs to a plugin")
		assert.NotContainsf(t, o.stdout, "play.danger", "%s answers", request)
	}
	w.run("approvals", "show", q.ID).exits(0).prints("waiting since")
	w.run("approvals", "deny", q.ID).exits(0)
	(<-u.ended).exits(exit.Refused)
}

// On a terminal the person is asked about each question, until another has answered it.
func TestApprovalsOnATerminal(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "player")
	w.configure("approvals: {ask: [queue]}")
	w.serve()
	person, program := newTerminal(t)
	cmd := w.command("approvals", "--follow")
	cmd.Stdin, cmd.Stdout, cmd.ExtraFiles = program, program, []*os.File{program}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: 3}
	require.NoError(t, cmd.Start())
	at := screen{t, person}
	sees, types := func(text string) { t.Helper(); at.sees(text) }, at.types
	const prompt = "Run it? [y, n REASON, or nothing to leave it] "

	u, q := w.queued("call", "play.danger", "--arg", "text=one")
	sees(`"text": "one"`)
	sees(prompt)
	types("y")
	sees(q.ID + ": play.danger approved by process ")
	(<-u.ended).exits(0).prints("one")

	u, q = w.queued("call", "play.danger", "--arg", "text=two")
	sees(prompt)
	types("n use staging")
	sees(q.ID + ": play.danger denied by process ")
	(<-u.ended).exits(exit.Refused).says("Approval denied for tool: play.danger: use staging")

	u, q = w.queued("call", "play.danger", "--arg", "text=three")
	sees(prompt)
	w.run("approvals", "deny", q.ID).exits(0)
	sees(q.ID + ": play.danger denied by process ")
	(<-u.ended).exits(exit.Refused)

	u, q = w.queued("call", "play.danger", "--arg", "text=four")
	sees(`"text": "four"`)
	sees(prompt)
	types("")
	sees(q.ID + " waits on")
	other, second := w.queued("call", "play.danger", "--arg", "text=five")
	sees(`"text": "five"`)
	sees(prompt)
	types("y")
	sees(second.ID + ": play.danger approved")
	(<-other.ended).exits(0).prints("five")
	w.run("approvals", "approve", q.ID).exits(0)
	(<-u.ended).exits(0).prints("four")
	require.NoError(t, cmd.Process.Signal(os.Interrupt))
	if err := cmd.Wait(); err != nil {
		t.Errorf("an interrupt ends it with %v", err)
	}
}
