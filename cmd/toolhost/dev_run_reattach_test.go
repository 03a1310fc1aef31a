package main

import (
	"bufio"
	"encoding/json"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/dev"
	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/internal/wire"
)

const notesSource = `package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/toolhost/toolhost/pluginsdk"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

type note struct{ Text string }

type settings struct{ Author string }

var author string

func add(ctx context.Context, n note) (string, error) {
	slog.InfoContext(ctx, "adding "+n.Text)
	_, bounded := ctx.Deadline()
	return fmt.Sprintf("%s by %s, process %d, bounded %v", n.Text, author, os.Getpid(), bounded), nil
}

func main() {
	pluginsdk.Plugin{
		Name:  "notes",
		Tools: []tool.Tool{pluginsdk.Func("notes.add", "Adds a note.", add, pluginsdk.Safe(), pluginsdk.Timeout(time.Second))},
		Configuration: pluginsdk.Configuration(func(_ context.Context, _ pluginsdk.Config, s settings) error {
			author = s.Author
			return nil
		}),
		Shutdown: func(context.Context) error { fmt.Println("shut down"); return nil },
	}.Main()
}
`

// debugged is a plugin that its author runs.
type debugged struct {
	w    *world
	cmd  *exec.Cmd
	out  *bufio.Scanner
	said string // where it listens, as TOOLHOST_REATTACH has it
	at   wire.Reattach
}

// debugs starts a plugin as its author does, in a debugger or without.
func (w *world) debugs(binary string, as ...func(*exec.Cmd)) *debugged {
	w.t.Helper()
	d := &debugged{w: w, cmd: exec.Command(binary)} //nolint:noctx,gosec // it is ended
	d.cmd.Env = append(slices.Clone(w.env), wire.DebugVariable+"=1")
	d.cmd.Stderr = os.Stderr
	for _, change := range as {
		change(d.cmd)
	}
	out := require.Must(d.cmd.StdoutPipe())(w.t)
	require.NoError(w.t, d.cmd.Start())
	w.t.Cleanup(func() {
		if d.cmd.ProcessState == nil {
			d.ends()
		}
	})
	if d.out = bufio.NewScanner(out); !d.out.Scan() {
		w.t.Fatal("it prints nothing")
	}
	// As a shell reads the line.
	text, err := exec.Command("sh", "-c", d.out.Text()+"\nprintf %s \"$"+wire.ReattachVariable+"\"").Output() //nolint:noctx,gosec // the line
	if err != nil {
		w.t.Fatalf("%q: %v", d.out.Text(), err)
	}
	var all map[string]wire.Reattach
	if err := json.Unmarshal(text, &all); err != nil || len(all) != 1 {
		w.t.Fatalf("%s: %v", text, err)
	}
	d.said = string(text)
	for _, d.at = range all {
	}
	return d
}

// ends interrupts it, and returns what it has printed since.
func (d *debugged) ends() (said string) {
	d.w.t.Helper()
	_ = d.cmd.Process.Signal(os.Interrupt)
	for d.out.Scan() {
		said += d.out.Text() + "\n"
	}
	if err := d.cmd.Wait(); err != nil {
		d.w.t.Errorf("the plugin ends with %v", err)
	}
	return said
}

// saying returns what says where the plugin listens, changed.
func (d *debugged) saying(change func(*wire.Reattach)) string {
	at := d.at
	change(&at)
	text, err := json.Marshal(map[string]wire.Reattach{"notes": at})
	if err != nil {
		d.w.t.Fatal(err)
	}
	return string(text)
}

// A plugin that its author has started is used, configured and let go as often as toolhost plugin
// dev comes, and its end ends that.
func TestPluginDevReattach(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	dir := w.goProject(notesSource)
	build := exec.CommandContext(t.Context(), "go", "build", "-ldflags=-w", "-o", "notes", ".")
	build.Dir = dir
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	p := w.debugs(filepath.Join(dir, "notes"))
	pid := p.cmd.Process.Pid
	if p.at.Pid != pid || p.at.Protocol != "grpc" || p.at.ProtocolVersion != wire.ProtocolVersion {
		t.Errorf("%+v", p.at)
	}

	for _, author := range []string{"ann", "bob"} {
		conf := filepath.Join(w.state, author+".yaml")
		save(t, conf, "plugins:\n  notes:\n    config: {Author: "+author+"}\n")
		d := w.develop("--config", conf, "--reattach", p.said, "--call", `notes.add {"Text":"a"}`)
		serving := d.await(dev.Serving, nil)
		if serving.PID != pid || serving.Plugin != "notes" || strings.Join(serving.Tools, " ") != "notes.add" {
			t.Errorf("%+v", serving)
		}
		want := strings.ReplaceAll(`by AUTHOR, process PID, bounded false`, "AUTHOR", author)
		want = strings.ReplaceAll(want, "PID", strconv.Itoa(pid))
		if e := d.await(dev.Answered, nil); e.Text != "a "+want {
			t.Errorf("%+v", e)
		}
		w.bare(append([]string{"call", "notes.add", `{"Text":"b"}`}, serving.Connect...)...).exits(0).prints("b " + want)
		logged := d.await(dev.Log, func(e dev.Event) bool { return strings.Contains(e.Text, "adding b") })
		d.ends()
		// The call may be shown before what it logs, or after.
		if !slices.ContainsFunc(d.seen, func(e dev.Event) bool { return e.Kind == dev.Called && e.Call == logged.Call }) {
			t.Errorf("the call is not shown: %+v", d.seen)
		}
	}

	w.env = append(w.env, wire.ReattachVariable+"="+p.said)
	w.run("tools").exits(0).says("TOOLHOST_REATTACH counts in toolhost dev run only")
	d := w.develop("--config", filepath.Join(w.state, "bob.yaml"))
	d.await(dev.Serving, nil)
	if said := p.ends(); said != "shut down\n" { // for no host before
		t.Errorf("it printed %q", said)
	}
	if e := d.await(dev.Gone, nil); e.PID != pid {
		t.Errorf("%+v", e)
	}
	d.await(dev.Ending, nil)
	d.ends()
	if _, err := os.Lstat(filepath.Dir(p.at.Addr.String)); err == nil {
		t.Error("the directory of its socket is left")
	}
	w.bare("dev", "run").exits(6).prints("there is no socket", "has ended")
}

// What others could have put there is not connected to, and what is wrong is said.
func TestPluginDevReattachRefuses(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.debugs(filepath.Join(built.dir, "player"))
	dir := filepath.Join(w.tmp, "d")
	require.NoError(t, os.Mkdir(dir, 0o700))
	path := filepath.Join(dir, "s")
	l := require.Must(net.Listen("unix", path))(t) //nolint:noctx // it is closed
	defer func() { _ = l.Close(); _ = os.RemoveAll(dir) }()
	at := func(socket string) string { return p.saying(func(r *wire.Reattach) { r.Addr.String = socket }) }
	refused := func(said string, status int, why ...string) {
		t.Helper()
		o := w.bare("dev", "run", "--reattach", said, "--once")
		o.exits(status)
		for _, text := range why {
			assert.Containsf(t, o.stdout+o.stderr, text, "%s: it does not say %q\n%s%s", said, text, o.stdout, o.stderr)
		}
	}
	modes := func(file string, mode os.FileMode) {
		t.Helper()
		require.NoError(t, os.Chmod(file, mode))
	}

	refused(`{"notes":`, 2, "TOOLHOST_REATTACH cannot be read", "TOOLHOST_DEBUG=1")
	for line := range strings.Lines(w.bare("dev", "run", "--reattach", at("relative"), "--json").exits(6).stdout) {
		var e struct{ Error *struct{ Code string } }
		if err := json.Unmarshal([]byte(line), &e); err != nil || e.Error != nil && e.Error.Code != "unavailable" {
			t.Errorf("%v: it prints %q", err, line)
		}
	}
	refused(`{}`, 2, "names 0 plugins")
	refused(`{"a":{},"b":{}}`, 2, "names 2 plugins")
	refused(p.saying(func(r *wire.Reattach) { r.ProtocolVersion = 7 }), 6, "speaks version 7 of the toolhost protocol, this host version 1")
	refused(p.saying(func(r *wire.Reattach) { r.Protocol = "netrpc" }), 6, `speaks "netrpc"`)
	refused(p.saying(func(r *wire.Reattach) { r.Pid = 1 }), 6, "not the number of a plugin's process")
	refused(p.saying(func(r *wire.Reattach) { r.Addr.Network = "tcp" }), 6, "only the absolute path of a unix socket")
	refused(at("relative"), 6, "only the absolute path of a unix socket")
	refused(at(filepath.Join(dir, "none")), 6, "there is no socket", "has ended")
	modes(path, 0o622)
	refused(at(path), 6, "is not a socket of this user's")
	modes(path, 0o600)
	modes(dir, 0o720)
	refused(at(path), 6, "in which only this user may write")
	modes(dir, 0o700)
	if os.Geteuid() == 0 {
		require.NoError(t, os.Chown(dir, 12345, -1))
		refused(at(path), 6, "not a directory of this user's")
		require.NoError(t, os.Chown(dir, 0, -1))
	} else {
		refused(at("/socket"), 6, "not a directory of this user's")
	}
	link := filepath.Join(w.tmp, "link")
	require.NoError(t, os.Symlink(filepath.Dir(p.at.Addr.String), link))
	refused(at(filepath.Join(link, "s")), 6, "not a directory of this user's")
	require.NoError(t, os.Remove(link))
	l.(*net.UnixListener).SetUnlinkOnClose(false)
	_ = l.Close()
	refused(at(path), 6, "has ended, or listens no more")
	refused(p.said, 0, "player, reattached to process "+strconv.Itoa(p.at.Pid))
	w.bare("dev", "run", "--reattach", p.said, "--output", "x").exits(2).says("is not built")
}
