package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/dev"
	"github.com/toolhost/toolhost/internal/test/require"
)

// developing is a run of toolhost dev run.
type developing struct {
	w      *world
	cmd    *exec.Cmd
	events chan dev.Event
	seen   []dev.Event
	stderr strings.Builder
}

// develop starts toolhost dev run, which is gone when the test has ended.
func (w *world) develop(args ...string) *developing {
	w.t.Helper()
	d := &developing{w: w, cmd: w.command(append([]string{"dev", "run", "--json"}, args...)...), events: make(chan dev.Event, 10000)}
	out := require.Must(d.cmd.StdoutPipe())(w.t)
	d.cmd.Stderr = &d.stderr
	require.NoError(w.t, d.cmd.Start())
	go func() {
		defer close(d.events)
		for in := bufio.NewScanner(out); in.Scan(); {
			var e dev.Event
			if err := json.Unmarshal(in.Bytes(), &e); err != nil {
				e.Kind, e.Text = "no JSON", in.Text()
			}
			d.events <- e
		}
	}()
	w.t.Cleanup(func() {
		if d.cmd.ProcessState == nil {
			d.ends()
		}
	})
	return d
}

// await waits for an event for which f holds; nil: of that kind.
func (d *developing) await(kind dev.Kind, f func(dev.Event) bool) dev.Event {
	d.w.t.Helper()
	for e := range d.events {
		d.seen = append(d.seen, e)
		if e.Kind == kind && (f == nil || f(e)) {
			return e
		}
	}
	_ = d.cmd.Wait()
	d.w.t.Fatalf("it ended, and there was no %s but %+v\n%s", kind, d.seen, d.stderr.String())
	return dev.Event{}
}

// ends interrupts it, as Ctrl-C does.
func (d *developing) ends() {
	d.w.t.Helper()
	_ = d.cmd.Process.Signal(os.Interrupt)
	for e := range d.events {
		d.seen = append(d.seen, e)
	}
	if err := d.cmd.Wait(); err != nil {
		d.w.t.Errorf("it ends with %v after %+v\n%s", err, d.seen, d.stderr.String())
	}
}

// sources makes a directory with these files.
func (w *world) sources(files map[string]string) string {
	w.t.Helper()
	dir := filepath.Join(w.t.TempDir(), "hello")
	for name, text := range files {
		save(w.t, filepath.Join(dir, name), text)
	}
	return dir
}

// save writes a file as editors do, in one step.
func save(t *testing.T, path, text string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	whole := filepath.Join(t.TempDir(), "saved")                 // elsewhere: next to it, this would be a source, too
	require.NoError(t, os.WriteFile(whole, []byte(text), 0o644)) //nolint:gosec // a source
	require.NoError(t, os.Rename(whole, path))
}

// makefile copies the built binary that the file which names, and another text after it.
var makefile = ".PHONY: build\nbuild:\n\tmkdir -p bin\n\t@sh build.sh\n"

const buildScript = "set -e\ncp \"$BUILT/$(cat which)\" bin/new\ncat text >> bin/new\nchmod +x bin/new\nmv bin/new bin/player\n"

// A plugin is built again when a source is saved, takes over without losing a call, and one that is
// broken does not.
func TestPluginDev(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.env = append(w.env, "BUILT="+built.dir)
	dir := w.sources(map[string]string{"Makefile": makefile, "build.sh": buildScript, "which": "nothing\n", "text": "1"})
	d := w.develop(dir, "--call", `play.echo {"text":"again"}`)
	if e := d.await(dev.BuildFailed, nil); !strings.Contains(e.Text, "nothing") || e.Old || e.Error == nil || !strings.Contains(e.Error.Message, "exit status 2") {
		t.Errorf("the first build: %+v %+v", e, e.Error)
	}
	save(t, filepath.Join(dir, "which"), "player\n")
	first := d.await(dev.Serving, nil)
	if !slices.Contains(first.Tools, "play.echo") || first.PID == 0 || first.Plugin != "player" {
		t.Errorf("%+v", first)
	}
	if e := d.await(dev.Answered, nil); e.Text != `{"text":"again"}` || e.Outcome != "ok" {
		t.Errorf("the call: %+v", e)
	}

	// Other commands use it by the flags that it tells.
	run := func(args ...string) outcome { t.Helper(); return w.bare(append(args, first.Connect...)...) }
	run("call", "play.echo", `{"text":"from outside"}`).exits(0).prints(`{"text":"from outside"}`)
	run("call", "play.fail").exits(1)
	if e := d.await(dev.Called, func(e dev.Event) bool { return e.Tool == "play.fail" }); e.Outcome != "failed" || e.Duration <= 0 || e.Caller != "cli" {
		t.Errorf("%+v", e)
	}
	run("call", "play.exit", `{"status":7}`).exits(6)
	if e := d.await(dev.Called, func(e dev.Event) bool { return e.Tool == "play.exit" }); e.Outcome != "crashed" {
		t.Errorf("%+v", e)
	}

	// A call that runs while the plugin is built again ends in the old one.
	begun, until := filepath.Join(w.root, "begun"), filepath.Join(w.root, "until")
	for _, path := range []string{begun, until} {
		require.NoError(t, syscall.Mkfifo(path, 0o600))
	}
	held := make(chan outcome, 1)
	go func() {
		held <- w.bare(append([]string{"call", "play.hold", fmt.Sprintf(`{"fifo":%q,"until":%q}`, begun, until)}, first.Connect...)...)
	}()
	require.Must(os.ReadFile(begun))(t)
	save(t, filepath.Join(dir, "text"), "2")
	if second := d.await(dev.Serving, nil); second.PID == first.PID {
		t.Errorf("it is the same process: %+v", second)
	}
	require.NoError(t, os.WriteFile(until, []byte("kept"), 0o600))
	(<-held).exits(0).prints("kept")

	// What does not start, and what is not built, leaves the one before.
	save(t, filepath.Join(dir, "which"), "quitter\n")
	if e := d.await(dev.NotServed, nil); !e.Old || e.Error == nil || !strings.Contains(e.Error.Message, "no license") {
		t.Errorf("%+v %+v", e, e.Error)
	}
	run("call", "play.echo", `{"text":"the old one"}`).exits(0)
	save(t, filepath.Join(dir, "build.sh"), "echo 'main.c:1: syntax error' >&2; exit 1\n")
	if e := d.await(dev.BuildFailed, nil); !e.Old || !strings.Contains(e.Text, "main.c:1: syntax error") {
		t.Errorf("%+v", e)
	}
	run("call", "play.echo", `{"text":"the old one"}`).exits(0)
	save(t, filepath.Join(dir, "build.sh"), buildScript)
	save(t, filepath.Join(dir, "which"), "player\n")
	d.await(dev.Serving, nil)
	save(t, filepath.Join(dir, "README"), "not part of the plugin\n")
	d.await(dev.Unchanged, nil)
	w.run("audit", "--tool", "play.fail", "--json").exits(0).prints(`"plugin":"player"`)
	d.ends()
	told := map[string]bool{}
	for _, e := range d.seen {
		if e.Kind == "no JSON" {
			t.Errorf("it prints %q", e.Text)
		}
		told[string(e.Kind)+" "+e.Text] = true
	}
	if !told["host plugin crashed: exit status 7; it wrote last: goodbye, \\x1b[31mworld"] {
		t.Errorf("the crash is not told: %v", told)
	}
	if _, err := os.Lstat(filepath.Dir(first.Connect[1])); err == nil {
		t.Error("its directory is left")
	}
}

const helloSource = `package main

import (
	"context"

	"github.com/toolhost/toolhost/pluginsdk"
)

type person struct {
	Name string
}

func hello(_ context.Context, p person) (string, error) { return "Hello, " + p.Name + "!", nil }

func main() {
	pluginsdk.Main(pluginsdk.Func("hello", "Greets.", hello, pluginsdk.Safe()))
}
`

// goProject is a plugin's package in a module of its own, on this copy of the SDK.
func (w *world) goProject(source string) string {
	w.t.Helper()
	repo := require.Must(filepath.Abs("../.."))(w.t)
	sums := require.Must(os.ReadFile(filepath.Join(repo, "go.sum")))(w.t)
	mod := require.Must(os.ReadFile(filepath.Join(repo, "go.mod")))(w.t)
	_, required, _ := strings.Cut(string(mod), "\n") // all that the SDK may need, as it is pinned here
	return w.sources(map[string]string{"main.go": source, "go.sum": string(sums), "go.mod": "module example.org/hello\n" + required +
		"\nrequire github.com/toolhost/toolhost v0.0.0\n\nreplace github.com/toolhost/toolhost => " + repo + "\n"})
}

// A Go package needs nothing but itself, and the compiler's errors are shown.
func TestPluginDevGo(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.env = append(w.env, "GOFLAGS="+os.Getenv("GOFLAGS")+" -ldflags=-w") // half the linker's work
	dir := w.goProject(strings.Replace(helloSource, "p.Name", "p.Nam", 1))
	d := w.develop(dir, "--call", `hello {"Name":"World"}`)
	if e := d.await(dev.BuildFailed, nil); !strings.Contains(e.Text, "main.go:13:") || !strings.Contains(e.Text, "p.Nam undefined") {
		t.Errorf("%+v", e)
	}
	save(t, filepath.Join(dir, "main.go"), helloSource)
	if e := d.await(dev.Answered, nil); e.Text != "Hello, World!" {
		t.Errorf("%+v", e)
	}
	d.ends()
}

// What is not a project is said, with what to do.
func TestPluginDevRefuses(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	none := w.sources(map[string]string{"README": "nothing to build"})
	two := w.sources(map[string]string{"bin/a": "", "bin/b": "", "Makefile": "build:\n\tchmod +x bin/*\n"})
	library := w.sources(map[string]string{"go.mod": "module example.org/library\n", "library.go": "package library\n"})
	for _, c := range []struct {
		args   []string
		status int
		says   []string
	}{
		{nil, 2, []string{"needs the directory of a plugin's sources", "dev new"}},
		{[]string{"nowhere"}, 2, []string{"there is no directory", "toolhost dev new NAME"}},
		{[]string{none}, 2, []string{"nothing in " + none + " says how to build a plugin", "toolhost dev new NAME", "--output FILE -- COMMAND"}},
		{[]string{library}, 2, []string{"is library, and a plugin is a package main"}},
		{[]string{none, "--"}, 2, []string{"after --"}},
		{[]string{none, none}, 2, []string{"takes one directory"}},
		{[]string{none, "--once", "--", "true"}, 1, []string{"was not built"}},
		{[]string{two, "--once"}, 1, []string{"was not built"}},
		{[]string{none, "--call", "hello no"}, 2, []string{"is not a JSON object"}},
		{[]string{none, "--socket", "x"}, 2, []string{"--socket has no effect"}},
	} {
		w.bare(append([]string{"dev", "run"}, c.args...)...).exits(c.status).says(c.says...)
	}
	w.bare("dev", "run", two, "--once").exits(1).prints("2 executables", "--output FILE")
	w.bare("dev", "run", none, "--once", "--output", "tool", "--", "sh", "-c", "echo hello").exits(1).prints("cannot be read")
}
