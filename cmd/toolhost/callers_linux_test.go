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
)

// Another user, whom the configuration names, is a caller with grants, a rate and sessions of its
// own, and manages nothing.
func TestCallerOfAnotherUser(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root can become another user")
	}
	const uid, stranger = 65533, 65532
	w := newWorld(t)
	base, err := os.MkdirTemp("/tmp", "thu-") // all users may enter it
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(base) })
	path := func(name string) string { return filepath.Join(base, name) }
	w.root, w.plugins = path("root"), path("plugins")
	for _, dir := range []string{base, w.root, w.plugins, path("home")} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(path("home"), 0o777); err != nil { //nolint:gosec // for the state of two users
		t.Fatal(err)
	}
	w.install("buffer", "buffer")
	if err := os.Link(filepath.Join(built.dir, "toolhost"), path("toolhost")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path("root/a.txt"), []byte("text\n"), 0o644); err != nil { //nolint:gosec // for others
		t.Fatal(err)
	}
	config := "root: root\nplugin_dirs: [plugins]\nsocket: run.sock\n" +
		"callers:\n  cli:\n    grants: [fs:read]\n  visitor:\n    uid: 65533\n    grants: [fs:read]\n    rate: 4/1h\n"
	if err := os.WriteFile(path("toolhost.yaml"), []byte(config), 0o644); err != nil { //nolint:gosec // for others
		t.Fatal(err)
	}
	as := func(uid uint32, words ...string) outcome {
		t.Helper()
		cmd := w.command(append(words, "--config", path("toolhost.yaml"))...)
		cmd.Path, cmd.Dir = path("toolhost"), w.root
		if uid != 0 {
			cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "XDG_STATE_HOME=" + path("home/"+string(rune('a'+uid%26))), "TOOLHOST_CACHE_DIR=off"}
			cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Credential: &syscall.Credential{Uid: uid, Gid: uid}}
		}
		return w.finish(cmd)
	}
	w.env = append(w.env, "TOOLHOST_SOCKET="+path("run.sock"))
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
	as(uid, "session", "list", "--json").exits(0).json(&list)
	if len(list) != 1 || list[0].Caller != "visitor" {
		t.Errorf("the visitor sees the sessions %+v", list)
	}
	as(0, "session", "list").exits(0).prints("cli      work", "visitor  work")
	as(uid, "session", "end", "work").exits(0)
	as(uid, "session", "end", "work").exits(2)
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
	o := as(0, "audit", "search", "--caller", "visitor", "--json").exits(0)
	for line := range strings.Lines(o.stdout) {
		var e audit.Entry
		if err := json.Unmarshal([]byte(line), &e); err != nil || e.Caller != "visitor" || e.Session == "" {
			t.Errorf("on record is %s", line)
		}
	}
	if n := strings.Count(o.stdout, "rate_limited"); n != refused {
		t.Errorf("%d refusals are on record, want %d", n, refused)
	}

	// Users that the configuration does not name are not served.
	as(stranger, "call", "--session", "x", "read_buffer").exits(2).says("belongs to user 0")
}
