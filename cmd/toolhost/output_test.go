package main

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"

	"github.com/toolhost/toolhost/pluginsdk/tool"
)

func TestPrintError(t *testing.T) {
	t.Parallel()
	crash := &tool.Error{Code: tool.CodeCrashed, Message: "plugin p crashed", Hint: "the next call starts it again", Detail: "one\ntwo\x1b[0m\n"}
	for _, c := range []struct {
		err  error
		want string
	}{
		{errors.New("plain"), "toolhost: plain\n"},
		{&tool.Error{Code: tool.CodeInternal}, "toolhost: internal\n"},
		{usage("wrong", "do it like this"), "toolhost: wrong\n  do it like this\n"},
		{&tool.Error{Code: tool.CodeToolFailed, Message: "m", Detail: "a stack"}, "toolhost: m\n"},
		{crash, "toolhost: plugin p crashed\n  the next call starts it again\n  its last words:\n    one\n    two\\x1b[0m\n"},
		{fmt.Errorf("step 6: %w", crash), "toolhost: step 6: plugin p crashed\n  the next call starts it again\n  its last words:\n    one\n    two\\x1b[0m\n"},
	} {
		var b bytes.Buffer
		(&app{err: newOutput(&b)}).printError(c.err)
		equal(t, "the text", b.String(), c.want)
	}
}

func TestTable(t *testing.T) {
	t.Parallel()
	rows := table{{"NAME", "WHAT"}, {"a", "short"}, {"äöü", "something that is longer than the terminal is wide"}, {"b", ""}}
	var b bytes.Buffer
	o := newOutput(&b)
	o.table(rows)
	equal(t, "the table", b.String(), "NAME  WHAT\na     short\näöü   something that is longer than the terminal is wide\nb\n")

	b.Reset()
	o.width = 30
	o.table(rows)
	equal(t, "the table", b.String(), "NAME  WHAT\na     short\näöü   something that is longe…\nb\n")

	b.Reset()
	o.width = 5
	o.table(rows)
	equal(t, "the table", b.String(), "NAME  WHAT\na     short\näöü   something that is l…\nb\n")
}

func TestColored(t *testing.T) {
	// Not parallel: the environment is the process's.
	o := &output{terminal: true}
	t.Setenv("NO_COLOR", "")
	equal(t, "the text", o.colored("32", "x"), "\x1b[32mx\x1b[0m")
	t.Setenv("NO_COLOR", "1")
	equal(t, "the text", o.colored("32", "x"), "x")
	t.Setenv("NO_COLOR", "")
	equal(t, "the text", (&output{}).colored("32", "x"), "x")
}

type broken struct{ err error }

func (b broken) Write([]byte) (int, error) { return 0, b.err }

func TestOutputCannotBeWritten(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err  error
		want int
	}{
		{syscall.ENOSPC, exitFailed},
		{syscall.EPIPE, exitDone}, // the reader had enough
	} {
		var stderr bytes.Buffer
		equal(t, fmt.Sprintf("the status for %v", c.err), run([]string{"version", "--json"}, strings.NewReader(""), broken{c.err}, &stderr), c.want)
		equal(t, "whether it is told", strings.Contains(stderr.String(), "could not be written"), c.want != exitDone)
	}
}
