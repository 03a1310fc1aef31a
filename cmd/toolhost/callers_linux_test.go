package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/control"
	"github.com/toolhost/toolhost/host/audit"
	"github.com/toolhost/toolhost/internal/test/require"
)

// other is a world in whose daemon other users are callers.
type other struct {
	*world
	base string // all users may enter it
}

// newOther makes a world with plugins and a configuration besides the places.
func newOther(t *testing.T, config string, plugins ...string) *other {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can become another user")
	}
	base := require.Must(os.MkdirTemp("/tmp", "thu-"))(t)
	t.Cleanup(func() { _ = os.RemoveAll(base) })
	o := &other{newWorld(t), base}
	o.root, o.plugins = o.path("root"), o.path("plugins")
	for _, dir := range []string{base, o.root, o.plugins, o.path("home")} {
		require.NoError(t, os.MkdirAll(dir, 0o755))
		require.NoError(t, os.Chmod(dir, 0o755))
	}
	require.NoError(t, os.Chmod(o.path("home"), 0o777)) //nolint:gosec // for the state of two users
	for _, name := range plugins {
		o.install(name, name)
	}
	require.NoError(t, os.Link(filepath.Join(built.dir, "toolhost"), o.path("toolhost")))
	text := "root: root\nplugin_dirs: [plugins]\nsocket: run.sock\n" + config
	require.NoError(t, os.WriteFile(o.path("toolhost.yaml"), []byte(text), 0o644)) //nolint:gosec // for others
	o.env = append(o.env, "TOOLHOST_SOCKET="+o.path("run.sock"))
	return o
}

func (o *other) path(name string) string { return filepath.Join(o.base, name) }

// as runs the command as a user; 0: as the daemon's.
func (o *other) as(uid uint32, words ...string) outcome {
	o.t.Helper()
	words = append(words, "--config", o.path("toolhost.yaml"))
	if uid == 0 {
		return o.bare(words...)
	}
	cmd := o.command(words...)
	cmd.Path = o.path("toolhost")
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "XDG_STATE_HOME=" + o.path("home/"+string(rune('a'+uid%26))), "TOOLHOST_CACHE_DIR=off"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Credential: &syscall.Credential{Uid: uid, Gid: uid}}
	return o.finish(cmd)
}

// Durable calls are their caller's: another user sees, waits for and cancels none of others.
func TestCallsOfAnotherUser(t *testing.T) {
	t.Parallel()
	const uid = 65533
	hub, work := newWorld(t, "player"), newWork(t)
	_, url := hub.fleetOf("  share: ['play.*']")
	w := newOther(t, "nats: {url: "+url+", name: b, mount: ['*'], "+atMostOnce+"}\ncallers: {visitor: {uid: 65533}}\n")
	w.sharesKey(hub)
	w.begin("--config", w.path("toolhost.yaml")).await("toolhost: ready: ")
	w.until("the tool is there", func() bool { return strings.Contains(w.as(0, "tools").stdout, "play.run") })
	detach := func(uid uint32) string {
		t.Helper()
		return strings.TrimSpace(w.as(uid, "call", "--detach", "play.run", work.call()).exits(0).stdout)
	}
	ours, theirs := detach(0), detach(uid)
	w.as(0, "jobs").exits(0).prints(ours, theirs, "visitor")
	if o := w.as(uid, "jobs").exits(0).prints(theirs); strings.Contains(o.stdout, ours) {
		t.Errorf("the visitor sees\n%s", o.stdout)
	}
	for _, words := range [][]string{{"show"}, {"show", "--wait"}, {"cancel"}} {
		w.as(uid, append([]string{"jobs"}, append(words, ours)...)...).exits(2).says("there is no durable call")
	}
	w.as(uid, "jobs", "cancel", theirs).exits(0).prints("canceled")
	work.mayEnd()
	w.as(0, "jobs", "show", ours, "--wait").exits(0).prints("finished")
	w.as(0, "jobs", "show", theirs).exits(0).prints("canceled")
}

// Another user, whom the configuration names, is a caller with grants, a rate and sessions of its
// own, and manages nothing.
func TestCallerOfAnotherUser(t *testing.T) {
	t.Parallel()
	const uid, stranger = 65533, 65532
	w := newOther(t, "callers:\n  cli:\n    grants: [fs:read]\n  visitor:\n    uid: 65533\n    grants: [fs:read]\n    rate: 4/1h\n", "buffer")
	path, as := w.path, w.as
	require.NoError(t, os.WriteFile(path("root/a.txt"), []byte("text\n"), 0o644)) //nolint:gosec // for others
	s := w.begin("--config", path("toolhost.yaml"))
	s.await("toolhost: ready: ")

	as(0, "call", "--session", "work", "read_file", "--arg", "path=a.txt").exits(0)
	as(uid, "call", "--session", "work", "read_buffer").exits(1).says("session work begins", "this session has not read")
	as(uid, "call", "read_file", "--arg", "path=a.txt", "--grant", "fs:read").exits(0).prints("text")
	as(uid, "call", "write_file", "--arg", "path=b.txt", "--arg", "content=x", "--grant", "fs:write", "--yes").exits(5).
		says("does not let the caller visitor have fs:write", "ask the user who runs the daemon")
	as(uid, "plugins", "restart", "buffer").exits(5).says("the caller visitor may call tools, and not manage the daemon")
	for _, words := range [][]string{{"approvals"}, {"approvals", "show", "x"}, {"approvals", "approve", "x"}, {"approvals", "--follow"}} {
		as(uid, words...).exits(5).says("the caller visitor may call tools, and not manage the daemon")
	}
	var list []control.SessionInfo
	as(uid, "sessions", "--json").exits(0).json(&list)
	if len(list) != 1 || list[0].Caller != "visitor" {
		t.Errorf("the visitor sees the sessions %+v", list)
	}
	as(0, "sessions").exits(0).prints("cli      work", "visitor  work")
	as(uid, "sessions", "end", "work").exits(0)
	as(uid, "sessions", "end", "work").exits(2)
	as(0, "call", "--session", "work", "read_buffer").exits(0).prints("text")

	passed, refused := 0, 0
	for range 6 { // two of four calls were made; one of them was refused before it counted
		if o := as(uid, "call", "read_file", "--arg", "path=a.txt"); o.status == 0 {
			passed++
		} else {
			refused++
			o.exits(5).says("too many calls of the caller visitor: 4 in 1h")
		}
	}
	equal(t, "the number of calls that passed", passed, 2)
	as(0, "call", "read_file", "--arg", "path=a.txt").exits(0)
	o := as(0, "audit", "--caller", "visitor", "--json").exits(0)
	for line := range strings.Lines(o.stdout) {
		var e audit.Entry
		if err := json.Unmarshal([]byte(line), &e); err != nil || e.Caller != "visitor" || e.Session == "" {
			t.Errorf("on record is %s", line)
		}
	}
	if n := strings.Count(o.stdout, "rate_limited"); n != refused {
		t.Errorf("%d refusals are on record, want %d", n, refused)
	}

	// The command of a user whom the configuration names goes by the daemon or fails: alone it would be under
	// no grant, rate and record.
	asElsewhere := func(words ...string) outcome {
		return as(uid, append([]string{"call", "read_file", "--arg", "path=a.txt"}, words...)...)
	}
	asElsewhere("--audit", "off").exits(6).says("this user is the caller visitor of a daemon", "--audit is for a host of this command's own", "--no-daemon")
	asElsewhere("--root", path("home")).exits(6).says("its root is ")
	asElsewhere("--no-daemon", "--grant", "fs:read", "--root", path("root")).exits(0).prints("text")

	// Users that the configuration does not name are not served.
	as(stranger, "call", "--session", "x", "read_buffer").exits(6).says("belongs to user 0")
	s.ends(syscall.SIGTERM, 0)
	asElsewhere().exits(6).says("this user is the caller visitor of a daemon", "no daemon is running on "+path("run.sock"))
}

// The configuration of the how-to, which names no directory: those of the two users differ.
func TestCallerWithOwnDirectories(t *testing.T) {
	t.Parallel()
	w := newOther(t, "callers: {visitor: {uid: 65533, tools: {deny: [play.danger]}}}\n", "player")
	require.NoError(t, os.WriteFile(w.path("toolhost.yaml"), []byte("socket: run.sock\ncallers: {visitor: {uid: 65533, tools: {deny: [play.danger]}}}\n"), 0o644)) //nolint:gosec // for others
	s := w.begin("--config", w.path("toolhost.yaml"), "--plugin-dir", w.plugins, "--root", w.root)
	s.await("toolhost: ready: ")
	w.as(65533, "call", "play.echo").exits(0)
	w.as(65533, "call", "play.danger", "--yes").exits(3)
}
