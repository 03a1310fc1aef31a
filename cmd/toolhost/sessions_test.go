package main

import (
	"strings"
	"testing"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/control"
	"github.com/toolhost/toolhost/internal/test/assert"
)

// What plugins keep for a named session is there for the next command, until the session ends.
func TestSessionOverCommands(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "buffer", "execution")
	w.write("go.mod", "module x\n\ngo 1.26\n")
	w.write("x.go", "package x\n")
	in := func(name string, words ...string) outcome {
		return w.run(append([]string{"call", "--session", name}, words...)...)
	}
	in("work", "read_buffer").exits(6).says("no daemon is running on ", "toolhost serve")
	w.run("sessions").exits(6).says("no daemon is running on ")
	w.serve("--grant", "fs:read", "--grant", "exec", "--yes")

	eval := func(name, form string) outcome {
		return in(name, "eval_form", "--arg", "form="+form, "--grant", "exec", "--yes")
	}
	eval("work", "var x = 41").exits(0).says("session work begins")
	o := eval("work", "x+1").exits(0).prints("42")
	assert.NotContainsf(t, o.stderr, "begins", "the session begins twice")
	eval("work", "nope").exits(1)
	in("work", "get_last_error", "--grant", "exec").exits(0).prints("undefined: nope")
	in("work", "read_file", "--arg", "path=x.go", "--grant", "fs:read").exits(0)
	in("work", "read_buffer", "--grant", "fs:read").exits(0).prints("package x")
	for _, other := range []string{"other", ""} { // another session, and none
		in(other, "read_buffer", "--grant", "fs:read").exits(1).says("this session has not read")
		in(other, "get_last_error", "--grant", "exec").exits(0).prints(`"found":false`)
	}

	var list []control.SessionInfo
	w.run("sessions", "--json").exits(0).json(&list)
	if len(list) != 2 || list[1].Name != "work" || list[1].Caller != "cli" || list[1].Began.IsZero() || strings.Join(list[1].Plugins, " ") != "buffer execution" {
		t.Errorf("the sessions are %+v", list)
	}
	w.run("sessions").exits(0).prints("CALLER", "cli     work", "buffer, execution")
	found := w.run("audit", "--session", "work", "--json").exits(0)
	if n := strings.Count(found.stdout, `"caller":"cli","session":"`+list[1].ID+`"`); n < 6 || n != strings.Count(found.stdout, "\n") {
		t.Errorf("%d of the calls on record are of session %s:\n%s", n, list[1].ID, found.stdout)
	}

	w.run("sessions", "end", "work").exits(0).prints("ended session work")
	w.run("sessions", "end", "work").exits(2).says("has no session work")
	in("work", "read_buffer", "--grant", "fs:read").exits(1).says("session work begins", "this session has not read")
	in("no such:name", "read_buffer").exits(2).says("a session's name has")
}

// The number of sessions of a caller has a bound, and a grant is for its call alone.
func TestSessionBounds(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "buffer")
	w.write("a.txt", "text")
	w.configure("sessions: {max: 2}")
	w.serve("--grant", "fs:read")
	read := []string{"call", "read_file", "--arg", "path=a.txt", "--session"}
	w.run(append(read, "a", "--grant", "fs:read")...).exits(0)
	w.run(append(read, "a")...).exits(5).says("Permission denied")
	w.run(append(read, "b", "--grant", "fs:read")...).exits(0)
	w.run(append(read, "c", "--grant", "fs:read")...).exits(5).says("has 2 sessions", "toolhost sessions end")
	w.run("sessions", "end", "a").exits(0)
	w.run(append(read, "c", "--grant", "fs:read")...).exits(0)
}
