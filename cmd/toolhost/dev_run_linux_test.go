package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/dev"
	"github.com/toolhost/toolhost/internal/sandbox"
	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/internal/wire"
)

// developPlayer are the words that develop the built player, without a compiler.
func (w *world) developPlayer(flags ...string) []string {
	dir := w.sources(map[string]string{"text": "1"})
	return append(append([]string{dir, "--output", "player"}, flags...), "--", "sh", "-c",
		`cp "$0" new && cat text >> new && mv new player`, filepath.Join(built.dir, "player"))
}

// Once, the status is that of the call.
func TestPluginDevOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	args := w.developPlayer("--once", "--call", `play.run {"program":1}`)
	w.bare(append([]string{"dev", "run"}, args...)...).exits(4).prints("serving ", "play.run: invalid_arguments")
}

// On a terminal the author sees how far the call of --call is: what it reports, and the last line of what it
// streams.
func TestPluginDevReports(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for how, sees := range map[string]string{"report": "play.hold: 25% line one", "stream": "play.hold: line one"} {
		begun, source := newFIFO(t), newFIFO(t)
		person, program := newTerminal(t)
		at := screen{t, person}
		call := fmt.Sprintf(`play.hold {"fifo":%q,"until":%q,%q:true}`, begun, source, how)
		cmd := w.command(append([]string{"dev", "run"}, w.developPlayer("--once", "--call", call)...)...)
		cmd.Stdout, cmd.Stderr = program, program
		to := w.source(cmd, begun, source)
		require.Must(to.WriteString("line one\n"))(t)
		at.sees(sees)
		require.NoError(t, to.Close())
		if seen := at.sees("that was it"); !strings.Contains(seen, "\r\x1b[K") || !strings.Contains(seen, "answer  play.hold: ok") {
			t.Errorf("then %q", seen)
		}
		require.NoError(t, cmd.Wait())
	}
}

// What a call writes next to the sources is not built; what the author saves is.
func TestPluginDevLeavesItsOwnWrites(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	args := w.developPlayer()
	notes, script := filepath.Join(args[0], "NOTES.md"), filepath.Join(w.root, "note.sh")
	// It waits for longer than it takes until a build begins.
	require.NoError(t, os.WriteFile(script, []byte("#!/bin/sh\necho one >>"+notes+"\nsleep 1\n"), 0o700)) //nolint:gosec // a program
	d := w.develop(args...)
	first := d.await(dev.Serving, nil)
	for range 2 {
		w.bare(append([]string{"call", "play.run", fmt.Sprintf(`{"program":%q}`, script)}, first.Connect...)...).exits(0)
	}
	save(t, filepath.Join(args[0], "text"), "2")
	d.await(dev.Serving, func(e dev.Event) bool { return e.PID != first.PID })
	save(t, notes, "by the author\n")
	d.await(dev.Unchanged, nil)
	d.ends()
	builds := 0
	for _, e := range d.seen {
		if e.Kind == dev.Building {
			builds++
		}
	}
	equal(t, "how often it is built", builds, 3)
}

// A panic's stack is what the author needs first.
func TestPluginDevShowsStacks(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.configure("plugins: {forecast: {config: {token: from-the-config}}}")
	d := w.develop(w.sources(map[string]string{"text": "1"}), "--output", "forecast", "--call", "forecast.panics",
		"--", "cp", filepath.Join(built.dir, "forecast"), ".")
	shown, answered := false, false
	for e := range d.events { // in either order
		d.seen = append(d.seen, e)
		shown = shown || e.Kind == dev.Log && strings.Contains(e.Text, "testdata/forecast/main.go:")
		answered = answered || e.Kind == dev.Answered && strings.Contains(e.Text, "panic: boom")
		if shown && answered {
			break
		}
	}
	if !shown || !answered {
		t.Errorf("the stack is shown: %t, the answer: %t, of %+v", shown, answered, d.seen)
	}
	d.ends()
}

// The author sees what the sandbox denies.
func TestPluginDevShowsDenials(t *testing.T) {
	t.Parallel()
	if !require.Must(sandbox.Detect())(t).Notify {
		t.Skip("this system does not tell what it refuses")
	}
	w := newWorld(t)
	w.configure("plugins:", "  player:", "    sandbox: {exec: []}")
	args := w.developPlayer("--once", "--call", `play.run {"program":"/bin/true"}`)
	w.bare(append([]string{"dev", "run"}, args...)...).exits(1).prints("answer  play.run: failed", " denied  exec\n")
	d := w.develop(w.developPlayer("--call", `play.run {"program":"/bin/true"}`)...)
	if e := d.await(dev.Denied, nil); e.Text != "exec" || e.Plugin != "player" {
		t.Errorf("%+v", e)
	}
	d.ends()
}

// The next run removes what killed runs and killed plugins left, and nothing else.
func TestPluginDevSweeps(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	glob := func(pattern string) []string {
		t.Helper()
		found := require.Must(filepath.Glob(filepath.Join(w.tmp, pattern)))(t)
		return found
	}
	killed := w.develop(w.developPlayer()...)
	killed.await(dev.Serving, nil)
	stopped, live := w.debugs(filepath.Join(built.dir, "player")), w.debugs(filepath.Join(built.dir, "player"))
	for _, cmd := range []*exec.Cmd{killed.cmd, stopped.cmd} {
		require.NoError(t, cmd.Process.Kill())
	}
	for range killed.events {
	}
	_ = killed.cmd.Wait() // it was killed
	for stopped.out.Scan() {
	}
	_ = stopped.cmd.Wait()

	others := []string{filepath.Join(w.tmp, "toolhost-dev-other"), filepath.Join(w.tmp, "toolhost-debug-other")} // that nothing claims
	for _, dir := range others {
		require.NoError(t, os.Mkdir(dir, 0o700))
		t.Cleanup(func() { _ = os.Remove(dir) })
	}
	if len(glob("toolhost-dev-*")) != 2 || len(glob("toolhost-debug-*")) != 3 {
		t.Fatalf("before there is %v", glob("*"))
	}
	w.bare("dev", "run", "--reattach", live.said, "--once").exits(0)
	equalLists(t, "what is left", glob("*"), []string{filepath.Dir(live.at.Addr.String), others[1], others[0]})
	for _, dir := range others {
		assert.NoError(t, os.Remove(dir))
	}
}

// A socket is not used if another process than the one that was named listens there, or another
// user's.
func TestPluginDevReattachRefusesOthers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	player := filepath.Join(built.dir, "player")
	p, other := w.debugs(player), w.debugs(player)
	refused := func(said string, why ...string) {
		t.Helper()
		w.bare("dev", "run", "--reattach", said, "--once").exits(6).prints(why...)
	}
	refused(p.saying(func(r *wire.Reattach) { r.Pid = other.at.Pid }), "belongs to another process")
	if os.Geteuid() != 0 {
		t.Skip("only root can start a plugin as another user")
	}

	const nobody = 65534
	dir := filepath.Join(w.tmp, "n")
	if err := errors.Join(os.Mkdir(dir, 0o700), os.Chown(dir, nobody, nobody), os.Chmod(w.tmp, 0o711)); err != nil { //nolint:gosec // to pass through
		t.Fatal(err)
	}
	require.NoError(t, exec.CommandContext(t.Context(), "cp", player, dir).Run())
	q := w.debugs(filepath.Join(dir, "player"), func(cmd *exec.Cmd) {
		cmd.Env = append(cmd.Env, "TMPDIR="+dir)
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	})
	socket := q.at.Addr.String
	give := func(path string, uid int) {
		t.Helper()
		require.NoError(t, os.Chown(path, uid, -1))
	}
	refused(q.said, "is not a directory of this user's")
	give(filepath.Dir(socket), 0)
	refused(q.said, "is not a socket of this user's")
	give(socket, 0)
	refused(q.said, "user 65534 listens there")
	give(socket, nobody)
	give(filepath.Dir(socket), nobody)
	q.ends()
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("it leaves %v, %v", left, err)
	}
	assert.NoError(t, os.RemoveAll(dir))
}

// Without a lock and a signature the author's build runs, also after a reload, and what does not
// apply is said.
func TestPluginDevWhereLocksAreRequired(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var key struct{ Public string }
	w.bare("dev", "keygen", filepath.Join(t.TempDir(), "acme.key"), "--no-password", "--json").exits(0).json(&key)
	config := func(level string) {
		w.configure("log_level: "+level, "lock: required", "trust:", "  required: true", "  publishers:", "    acme: {keys: ["+key.Public+"], plugins: [other]}")
	}
	config("warn")
	args := w.developPlayer()
	d := w.develop(args...)
	text := d.await(dev.Note, nil).Text
	for _, want := range []string{"lock and trust.required", filepath.Join(w.root, "toolhost.yaml"), "neither locked nor signed"} {
		assert.Containsf(t, text, want, "it does not say %q", want)
	}
	serving := d.await(dev.Serving, nil)
	config("info")
	w.bare(append([]string{"reload"}, serving.Connect...)...).exits(0)
	save(t, filepath.Join(args[0], "text"), "2")
	if next := d.await(dev.Serving, nil); next.PID == serving.PID {
		t.Errorf("it is the same process: %+v", next)
	}
	d.ends()
}
