package main

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/control"
	"github.com/toolhost/toolhost/host/fleet"
	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/mcptest"
	"github.com/toolhost/toolhost/internal/test/require"
)

// keyFile is where the key of this world's host is.
func (w *world) keyFile() string { return filepath.Join(w.state, "toolhost", "fleet.key") }

// fleetKey makes the key of this world's host, and returns its public half.
func (w *world) fleetKey() string {
	w.t.Helper()
	return strings.TrimSpace(w.run("fleet", "key").exits(0).stdout)
}

// sharesKey gives this world's host the key of another one.
func (w *world) sharesKey(with *world) {
	w.t.Helper()
	with.fleetKey()
	text, err := os.ReadFile(with.keyFile())
	if err == nil {
		err = os.MkdirAll(filepath.Dir(w.keyFile()), 0o700)
	}
	if err == nil {
		err = os.WriteFile(w.keyFile(), text, 0o600)
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

var serverURL = regexp.MustCompile(`fleet: \S+ on (nats://\S+), with`)

// server is where the NATS server in a daemon is.
func (s *serving) server() string {
	s.w.t.Helper()
	m := serverURL.FindStringSubmatch(strings.Join(s.said, "\n"))
	if m == nil {
		s.w.t.Fatalf("the daemon does not say where its server is:\n%s", strings.Join(s.said, "\n"))
	}
	return m[1]
}

// hosts is the fleet as this world's daemon sees it, by name.
func (w *world) hosts() map[string]fleet.HostStatus {
	w.t.Helper()
	all := require.Must(w.client().FleetHosts(w.t.Context()))(w.t)
	out := map[string]fleet.HostStatus{}
	for _, h := range all {
		out[h.Name] = h
	}
	return out
}

// shows waits until a command prints a text.
func (w *world) shows(text string, args ...string) {
	w.t.Helper()
	w.until(text, func() bool { return strings.Contains(w.run(args...).exits(0).stdout, text) })
}

// What one daemon shares, another mounts, calls, and sees come and go.
func TestFleet(t *testing.T) {
	t.Parallel()
	a, b := newWorld(t, "player"), newWorld(t, "fs")
	b.sharesKey(a)
	a.configure("nats: {share: [play.*], labels: {gpu: '1'}, max_calls: 1}")
	one := a.serve("--nats", "embedded:0", "--name", "a")
	b.configure("nats: {mount: [play.*]}")
	b.serve("--nats", one.server(), "--name", "b")

	b.run("tools").exits(0).prints("HOSTS", "play.echo", "fs.read")
	b.run("tools", "--on", "a").exits(0).prints("play.echo", " a ")
	b.run("tools", "--on", "b").exits(0).says("no tool matches")
	b.run("tools", "show", "play.echo").exits(0).prints("on other hosts:", "player", "yes")
	b.run("call", "play.echo", `{"text":"over there"}`).exits(0).prints("over there")
	b.run("call", "play.fail").exits(1)
	b.run("fleet").exits(0).prints("a", "ready", "gpu=1", "b (this)")
	b.run("status").exits(0).prints("b on nats://127.0.0.1:", "ready, 1 other host, ", "tools mounted")
	b.run("doctor").prints("b is in a fleet with 1 other host")
	b.run("call", "--on", "a", "play.echo", `{"text":"there"}`).exits(0).prints("there")
	b.run("call", "--on", "a", "fs.list").exits(4).says("this host's own, and does not run on a")
	if o := b.run("call", "--on", "no host", "play.echo"); o.status == 0 {
		t.Errorf("a host that is not there answers: %s", o.stdout)
	}
	b.bare("__complete", "--plugin-dir", b.plugins, "fleet", "drain", "").exits(0).prints("a\tready")
	b.run("fleet").exits(0).prints("SHARE", "play.echo  a     100 %")
	b.run("fleet", "--on", "a").exits(0).prints("a (this)", "b ")
	b.run("fleet", "--on", "a", "--json").exits(0).prints(`"hosts"`, `"queue"`)
	b.run("fleet", "--on", "no host").exits(2).says("no host of the fleet is called")
	if got := b.hosts()["a"]; got.Peer != "" || got.Tools == 0 || got.Labels["gpu"] != "1" {
		t.Errorf("a is %+v", got)
	}
	a.run("audit", "--tool", "play.echo", "--json").exits(0).prints(`"b/*"`, `"fleet"`)

	w, queued := newWork(t), newWork(t)
	queued.mayEnd()
	_, called := b.start("", "call", "--plugin-dir", b.plugins, "play.run", w.call())
	b.until("the call runs", func() bool { return w.runs() == 1 })
	_, waited := b.start("", "call", "--plugin-dir", b.plugins, "play.run", queued.call())
	b.shows("play.run: 1 waiting for a host, the first for ", "fleet")
	b.run("fleet", "drain", "a").exits(0).prints("a drains")
	b.until("a drains", func() bool { return b.hosts()["a"].State == fleet.HostDraining })
	b.run("call", "play.echo").exits(6)
	if o := <-waited; o.status != 5 || queued.runs() > 0 {
		t.Errorf("the call that waited exits with %d: %s", o.status, o.stderr)
	}
	b.run("fleet", "drain", "a", "--timeout", "10ms").exits(7).says("within 10ms: 1 left")
	b.run("fleet", "drain", "a", "--timeout", "-1s").exits(2)
	w.mayEnd()
	b.run("fleet", "drain", "--wait", "a").exits(0).prints("a is drained")
	if o := <-called; o.status != 0 {
		t.Errorf("the call in progress: %s", o.stderr)
	}
	a.run("fleet", "drain", "a", "--off").exits(0)
	b.until("a takes calls again", func() bool { return b.hosts()["a"].State == fleet.HostReady })
	b.run("call", "play.echo").exits(0)
	b.run("fleet", "drain", "no host").exits(2)

	one.ends(syscall.SIGTERM, 0)
	b.until("its tools are gone", func() bool { return !b.knows("play.echo") })
	b.run("status").exits(1).says("not well").prints("the fleet on nats://127.0.0.1:")
}

// A host of another key sees what it is given, and has the grants that it is given; a reload
// changes that.
func TestFleetOfPeers(t *testing.T) {
	t.Parallel()
	a, b, c := newWorld(t, "fs", "player"), newWorld(t), newWorld(t)
	a.write("a.txt", "text of a")
	keyA, keyB, keyC := a.fleetKey(), b.fleetKey(), c.fleetKey()
	conf := []string{"nats:", "  embedded: 0", "  name: a", "  share: [fs.*]", "  peers:", "    bee: {key: " + keyB + "}", "    sea: {key: " + keyC + ", share: [play.echo], admin: false}"}
	a.configure(conf...)
	one := a.serve()
	for _, w := range []*world{b, c} {
		w.configure("nats:", "  url: "+one.server(), "  mount: ['*']", "  prefix: far.", "  name: "+map[*world]string{b: "b", c: "c"}[w], "  peers: {ay: {key: "+keyA+"}}")
		w.serve()
	}
	read := []string{"call", "far.fs.read", `{"path":"a.txt"}`, "--grant", "fs:read"}
	if o := b.run("tools").exits(0).prints("far.fs.read"); strings.Contains(o.stderr, "no plugins") {
		t.Errorf("a host that needs no plugins is told that it has none: %s", o.stderr)
	}
	b.run(read...).exits(5)
	if o := c.run("tools").exits(0).prints("far.play.echo"); strings.Contains(o.stdout, "fs.read") {
		t.Errorf("c sees\n%s", o.stdout)
	}
	c.run("call", "far.play.echo").exits(0)
	c.run("fleet", "drain", "a").exits(5)
	a.run("fleet").exits(0).prints("b (bee)", "c (sea)")

	b.configure("nats:", "  url: "+one.server(), "  mount: ['*']", "  prefix: far.", "  name: b", "  peers: {ay: {key: "+keyA+"}}", "callers: {cli: {grants: [fs:read]}}")
	b.run("reload").exits(0)
	b.run(read...).exits(5).says("on host a: grant it under nats.callers, as bee/cli")
	a.configure(append(conf, "  callers: {bee: {grants: [fs:read]}}")...)
	one.await("toolhost: reloaded: nats")
	b.run(read...).exits(0).prints("text of a")
	a.run("audit", "--caller", "bee/*", "--json").exits(0).prints(`"fs.read"`)

	a.configure("nats: {embedded: 0, name: other}")
	one.await("nats.name: a running daemon cannot change it")
	b.run(read...).exits(0)

	a.configure("nats: {embedded: 0, name: a}")
	one.await("toolhost: reloaded: nats")
	b.until("its tools are gone", func() bool { return !b.knows("far.") })
}

// A host gets another key while it is called: no call fails.
func TestKeyOfHostChanges(t *testing.T) {
	t.Parallel()
	a, b, c := newWorld(t), newWorld(t, "player"), newWorld(t, "player")
	keyA, keyB, keyC := a.fleetKey(), b.fleetKey(), c.fleetKey()
	knows := func(keys string) {
		a.configure("nats: {embedded: 0, name: a, mount: ['*'], peers: {bee: {" + keys + "}, sea: {key: " + keyC + "}}}")
	}
	knows("key: " + keyB)
	one := a.serve()
	for name, w := range map[string]*world{"b": b, "c": c} {
		w.configure("nats: {url: '" + one.server() + "', name: " + name + ", share: ['*'], peers: {ay: {key: " + keyA + "}}}")
	}
	two := b.serve()
	c.serve()
	served := func(key string) func() bool {
		return func() bool {
			h := a.hosts()["b"]
			return h.Key == key && h.State == fleet.HostReady && h.Tools > 0 && a.hosts()["c"].Tools > 0
		}
	}
	a.until("both hosts", served(keyB))
	stop := a.load(control.Call{Name: "play.echo", Arguments: []byte("{}")})
	b.run("fleet", "key", "--use").exits(2).says("no next key")
	next := strings.TrimSpace(b.run("fleet", "key", "--next").exits(0).stdout)
	b.run("fleet", "key", "--next").exits(0).prints(next)
	b.run("fleet", "key").exits(0).prints(keyB)
	knows("key: " + keyB + ", keys: [" + next + "]")
	a.run("reload").exits(0)
	b.run("fleet", "key", "--use").exits(0).prints(next)
	b.run("fleet", "key").exits(0).prints(next)
	two.ends(syscall.SIGTERM, 0)
	b.serve()
	a.until("the host with its next key", served(next))
	knows("keys: [" + next + "]")
	a.run("reload").exits(0)
	a.run("call", "--on", "bee", "play.echo", `{"text":"by the next key"}`).exits(0).prints("by the next key")
	if stop() == 0 {
		t.Error("nothing was called")
	}
	if old := require.Must(fleet.KeyFile(b.keyFile() + ".old"))(t); old.Public() != keyB {
		t.Errorf("the old key is %s", old)
	}
}

// A daemon with settings that cannot work ends and says why.
func TestFleetRefuses(t *testing.T) {
	t.Parallel()
	a, b := newWorld(t), newWorld(t)
	one := a.serve("--nats", "embedded:0", "--name", "a")
	port := one.server()[strings.LastIndexByte(one.server(), ':')+1:]
	refused := func(status int, says string, args ...string) {
		t.Helper()
		b.run(append([]string{"serve"}, args...)...).exits(status).says(says)
	}
	refused(2, "neither a URL of a NATS server nor embedded", "--nats", "localhost:4222")
	refused(2, "is not a port", "--nats", "embedded:70000")
	refused(2, "--nats is empty", "--nats", "")
	refused(2, "is not a name of a host", "--nats", "embedded:0", "--name", "a b")
	refused(2, "--mcp stdio", "--nats", "embedded", "--mcp", "stdio")
	refused(6, "embedded NATS server did not start", "--nats", "embedded:"+port)
	b.run("serve", "--nats", one.server()).says("NATS") // its key is not that of a
	if o := b.run("serve", "--nats", one.server()); o.status != 5 && o.status != 6 {
		t.Errorf("it exits with %d: %s", o.status, o.stderr)
	}
	b.configure("nats: {url: " + one.server() + ", credentials: no.creds}")
	refused(2, "there is no file")
	b.write("no.creds", "secret")
	require.NoError(t, os.Chmod(filepath.Join(b.root, "no.creds"), 0o644)) //nolint:gosec // as it should not be
	refused(2, "other users can read it")
	b.configure("# nothing")
	require.NoError(t, os.Chmod(b.keyFile(), 0o644)) //nolint:gosec // as it should not be
	refused(2, "other users can read", "--nats", "embedded:0")
	b.run("fleet", "key").exits(2).says("other users can read")
	b.run("doctor").prints("other users can read")

	b.run("fleet").exits(6).says("no daemon is running")
	b.run("call", "--on", "a", "x").exits(6)
	b.serve()
	for _, args := range [][]string{{"fleet"}, {"tools", "--on", "x"}, {"fleet", "drain", "x"}, {"fleet", "drain", "x", "--off"}} {
		b.run(args...).exits(2).says("the daemon is in no fleet")
	}
}

// A daemon that reaches no server serves its own tools, and joins when there is one.
func TestFleetWithoutServer(t *testing.T) {
	t.Parallel()
	address := fmt.Sprintf("127.0.0.1:%d", mcptest.FreePort(t))
	a, b := newWorld(t, "player"), newWorld(t)
	b.sharesKey(a)
	a.configure("nats: {share: ['*']}")
	b.configure("nats: {mount: ['*']}")
	alone := b.serve("--nats", "nats://"+address, "--name", "b")
	assert.Containsf(t, strings.Join(alone.said, "\n"), "no NATS server is reached", "the daemon does not say that it is alone")
	b.run("status").exits(1).prints("the fleet on nats://" + address + " is not reached")
	b.run("fleet").exits(0).prints("b (this)")
	_, port, _ := net.SplitHostPort(address)
	a.serve("--nats", "embedded:"+port, "--name", "a")
	b.until("the tools are there", func() bool { return b.knows("play.echo") })
	b.run("call", "play.echo").exits(0)
	b.run("status").exits(0)
}

// Daemons that are not named have the machine's name: the second one says so.
func TestFleetOfOneName(t *testing.T) {
	t.Parallel()
	a, b := newWorld(t), newWorld(t)
	b.sharesKey(a)
	one := a.serve("--nats", "embedded:0")
	b.begin("--nats", one.server()).await("another host of the fleet has this host's name: give one of them another by nats.name")
}

// A peer that is taken out of the configuration is let go: its call ends in peace, also where the server is in the
// daemon that removes it, which warns of what it shares with no one.
func TestRemovedPeer(t *testing.T) {
	t.Parallel()
	a, b := newWorld(t, "player", "fs"), newWorld(t)
	keyA, keyB := a.fleetKey(), b.fleetKey()
	a.configure("nats: {embedded: 0, name: a, share: [play.hold, fs.read], peers: {bee: {key: " + keyB + "}}}")
	one := a.begin()
	one.await("no caller of another host may call tools that are shared")
	one.await("toolhost: ready: ")
	b.configure("nats: {url: '" + one.server() + "', name: b, mount: ['*'], peers: {ay: {key: " + keyA + "}}}")
	b.serve()
	b.until("its tools are there", func() bool { return b.knows("play.hold") })
	until := newFIFO(t)
	u := b.startCall(newFIFO(t), "call", "play.hold", "--arg", "until="+until)
	a.configure("nats: {embedded: 0, name: a, share: [play.hold]}")
	one.await("toolhost: reloaded: nats")
	b.until("its tools are gone", func() bool { return !b.knows("play.hold") })
	b.run("fleet").exits(0).prints("refused", "host a does not know the key "+keyB+": add it under nats.peers there")
	to := openFIFO(t, until, os.O_WRONLY, u.ended)
	require.Must(to.WriteString("in peace"))(t)
	require.NoError(t, to.Close())
	(<-u.ended).exits(0).prints("in peace")
	b.until("it may not log in any more", func() bool { return b.hosts()["b"].State == fleet.HostLate })
}
