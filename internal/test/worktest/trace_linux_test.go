package worktest_test

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/need"
	"github.com/toolhost/toolhost/internal/observe"
	"github.com/toolhost/toolhost/internal/sandbox"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// traced does work in a process of which it is recorded what it uses, and returns what that was.
func traced(t *testing.T, work func(t *testing.T, p *place)) (*tool.Needs, []string) {
	t.Helper()
	if f := require.Must(sandbox.Detect())(t); !f.Stage || !f.Notify {
		t.Skip("this system does not tell what a process uses")
	}
	trace := observe.New()
	p := open(t, worker, nil, plugin.Settings{Trace: trace})
	work(t, p)
	require.NoError(t, p.plugin.Close(t.Context()))
	n, notes := trace.Proposal()
	for _, list := range [][]string{n.Read, n.Write, n.Exec} {
		for i, path := range list {
			if rest, ok := strings.CutPrefix(path, "~/"); ok {
				list[i] = filepath.Join(os.Getenv("HOME"), rest)
			}
		}
	}
	return n, notes
}

// suffices does work in a sandbox that gives what was proposed, and nothing else.
func suffices(t *testing.T, n *tool.Needs, work func(t *testing.T, p *place)) {
	t.Helper()
	list := func(l []string) []string { return append([]string{}, l...) }
	box := plugin.Sandbox{Level: plugin.BestEffort, Read: list(n.Read), Write: list(n.Write), Net: list(n.Net), Exec: list(n.Exec)}
	work(t, open(t, worker, nil, plugin.Settings{Sandbox: box}))
}

// What files and programs were used, and nothing that every process has, is proposed, and is
// enough.
func TestTraceFiles(t *testing.T) {
	t.Parallel()
	outside := t.TempDir()
	at := func(name string) string { return filepath.Join(outside, name) }
	for _, name := range []string{"one/a", "many/a", "many/b", "many/c", "many/d", "tree/not", "changed"} {
		if err := os.MkdirAll(filepath.Dir(at(name)), 0o755); err != nil { //nolint:gosec // another user reads it
			t.Fatal(err)
		}
		if err := os.WriteFile(at(name), []byte("x\n"), 0o666); err != nil { //nolint:gosec // and writes it
			t.Fatal(err)
		}
	}
	for link, target := range map[string]string{"link": "one", "made": ""} {
		var err error
		if target == "" {
			err = os.Mkdir(at(link), 0o755) //nolint:gosec // of this test
		} else {
			err = os.Symlink(at(target), at(link))
		}
		require.NoError(t, err)
	}
	work := func(t *testing.T, p *place) {
		p.file(t, "in.txt", "y\n")
		p.run(t, "sh", "-c", `set -e; cd "$0"
			cat link/a many/a many/b many/c many/d "$1/in.txt" >"$1/out.txt"
			test -e tree/missing || cat tree/missing 2>/dev/null || true
			echo z >>changed; echo z >made/new; rm made/new
			own=$(mktemp -d); echo z >"$own/file"; mkdir "$own/dir"; mv "$own/file" "$own/dir/file"; rm -r "$own"; : >/dev/null`, outside, p.root)
	}
	got, notes := traced(t, work)
	want := &tool.Needs{
		Read: []string{at("link/a"), at("many")}, Write: []string{at("changed"), at("made"), tool.Workspace},
		Exec: []string{"cat", "mktemp", "mkdir", "mv", "rm", "sh"},
	}
	if len(notes) > 0 {
		t.Errorf("notes: %q", notes)
	}
	if !reflect.DeepEqual(need.Normal(got), need.Normal(want)) {
		t.Fatalf("it proposes %s\nwant %s", got, want)
	}
	suffices(t, got, work)
}

// A connection through the proxy needs a host, to a port of this machine that port, to anything else
// the network, and to a server of its own nothing.
func TestTraceNet(t *testing.T) {
	t.Parallel()
	address, certificate := site(t)
	_, port, _ := net.SplitHostPort(address)
	u, err := net.ListenPacket("udp", "127.0.0.1:0") //nolint:noctx // at once
	require.NoError(t, err)
	t.Cleanup(func() { _ = u.Close() })
	_, datagrams, _ := net.SplitHostPort(u.LocalAddr().String())
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip(err)
	}
	for name, c := range map[string]struct {
		work func(t *testing.T, p *place)
		want tool.Needs
	}{
		"own": {func(t *testing.T, p *place) { call[text](t, p, "serve", nothing{}) }, tool.Needs{}},
		"proxy": {func(t *testing.T, p *place) {
			call[text](t, p, "get", request{URL: "https://" + address + "/page", CA: certificate})
		}, tool.Needs{Net: []string{address}}},
		"past it": {func(t *testing.T, p *place) { p.run(t, bash, "-c", "exec 3<>/dev/tcp/127.0.0.1/"+port) },
			tool.Needs{Net: []string{"localhost:" + port}, Exec: []string{"bash"}}},
		"datagrams": {func(t *testing.T, p *place) { p.run(t, bash, "-c", "exec 3<>/dev/udp/127.0.0.1/"+datagrams) },
			tool.Needs{Net: []string{tool.Any}, Exec: []string{"bash"}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, notes := traced(t, c.work)
			if !reflect.DeepEqual(need.Normal(got), need.Normal(&c.want)) {
				t.Fatalf("it proposes %s, want %s", got, &c.want)
			}
			if told := strings.Contains(strings.Join(notes, ""), "udp 127.0.0.1:"+datagrams); told != (name == "datagrams") {
				t.Errorf("notes: %q", notes)
			}
			if require.Must(sandbox.Detect())(t).Network {
				suffices(t, got, c.work)
			}
		})
	}
}

// What git does is proposed, and is enough.
func TestTraceGit(t *testing.T) {
	t.Parallel()
	helpers(t)
	work := func(t *testing.T, p *place) {
		p.file(t, "one/a.txt", "a\n")
		git(t, p, "init", "-q", "one")
		git(t, p, "-C", "one", "add", ".")
		git(t, p, "-C", "one", "commit", "-q", "-m", "first")
		git(t, p, "clone", "-q", "--no-local", "one", "two")
	}
	n, _ := traced(t, work)
	suffices(t, n, work)
}

// What comes with a program, such as the tools and modules of go, is not proposed.
func TestTraceGo(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip(err)
	}
	work := func(t *testing.T, p *place) {
		p.file(t, "go.mod", "module example.test/m\n")
		p.file(t, "m.go", "package m\n\nimport _ \"net\"\n")
		p.run(t, "go", "list", "-deps", ".")
	}
	n, notes := traced(t, work)
	outside := strings.ContainsAny(strings.Join(slices.Concat(n.Read, n.Write, n.Exec), ""), "/~")
	if outside || len(notes) > 0 || !slices.Contains(n.Exec, "go") || n.Net != nil {
		t.Fatalf("it proposes %s: %q", n, notes)
	}
	suffices(t, n, work)
}
