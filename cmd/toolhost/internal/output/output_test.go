package output

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"syscall"
	"testing"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/exit"
	"github.com/toolhost/toolhost/internal/test/assert"
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
		{exit.Usage("wrong", "do it like this"), "toolhost: wrong\n  do it like this\n"},
		{&tool.Error{Code: tool.CodeToolFailed, Message: "m", Detail: "a stack"}, "toolhost: m\n"},
		{
			exit.With(exit.BadUsage, fmt.Errorf("f cannot be written: %w", syscall.ENOSPC)),
			"toolhost: f cannot be written: no space left on device\n  make space there: the disk, or what this user may use of it, is full\n",
		},
		{crash, "toolhost: plugin p crashed\n  the next call starts it again\n  its last words:\n    one\n    two\\x1b[0m\n"},
		{fmt.Errorf("step 6: %w", crash), "toolhost: step 6: plugin p crashed\n  the next call starts it again\n  its last words:\n    one\n    two\\x1b[0m\n"},
	} {
		var b bytes.Buffer
		New(&b).Error(c.err)
		equal(t, "the text", b.String(), c.want)
	}
}

func TestTable(t *testing.T) {
	t.Parallel()
	rows := Table{{"NAME", "WHAT"}, {"a", "short"}, {"äöü", "something that is longer than the terminal is wide"}, {"b", ""}}
	var b bytes.Buffer
	o := New(&b)
	o.Table(rows)
	equal(t, "the table", b.String(), "NAME  WHAT\na     short\näöü   something that is longer than the terminal is wide\nb\n")

	b.Reset()
	o.width = 30
	o.Table(rows)
	equal(t, "the table", b.String(), "NAME  WHAT\na     short\näöü   something that is longe…\nb\n")

	b.Reset()
	o.width = 40
	o.Table(rows)
	equal(t, "the table", b.String(), "NAME  WHAT\na     short\näöü\n    something that is longer than the t…\nb\n")

	b.Reset()
	o.width = 5
	o.Table(rows)
	equal(t, "the table", b.String(), "NAME  WHAT\na     short\näöü   something that is l…\nb\n")
}

func TestColored(t *testing.T) {
	// Not parallel: the environment is the process's.
	o := &Writer{terminal: true}
	t.Setenv("NO_COLOR", "")
	equal(t, "the text", o.Colored("32", "x"), "\x1b[32mx\x1b[0m")
	t.Setenv("NO_COLOR", "1")
	equal(t, "the text", o.Colored("32", "x"), "x")
	t.Setenv("NO_COLOR", "")
	equal(t, "the text", (&Writer{}).Colored("32", "x"), "x")
}

func equal[T comparable](t *testing.T, what string, got, want T) {
	t.Helper()
	assert.Equalf(t, got, want, "%s", what)
}

func TestReport(t *testing.T) {
	t.Parallel()
	wrong := exit.Usage("<wrong>", "do it like this")
	for _, c := range []struct {
		report any
		err    error
		want   string
	}{
		{map[string]int{"n": 1}, nil, `{"n":1}`},
		{map[string]int{"n": 1}, wrong, `{"n":1,"error":{"code":"usage","message":"<wrong>","hint":"do it like this"}}`},
		{struct{}{}, wrong, `{"error":{"code":"usage","message":"<wrong>","hint":"do it like this"}}`},
	} {
		var b, compacted bytes.Buffer
		o := New(&b)
		assert.ErrorIs(t, o.Report(c.report, c.err), c.err)
		o.Failure(errors.New("what is said once is not said again"))
		assert.NoError(t, json.Compact(&compacted, b.Bytes()))
		equal(t, "the report", compacted.String(), c.want)
	}
	if err := New(&bytes.Buffer{}).Report([]int{1}, wrong); err == nil || errors.Is(err, wrong) {
		t.Errorf("a list is reported: %v", err)
	}
}
