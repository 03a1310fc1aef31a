package fleet_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"github.com/toolhost/toolhost/host/fleet"
	"github.com/toolhost/toolhost/internal/embedded"
	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// A host is killed in the midst of calls: those that may run again all succeed, the others end once,
// typed, and none of them ran twice.
func TestKilledHost(t *testing.T) {
	t.Parallel()
	calls := 20_000
	if testing.Short() {
		calls = 2_000
	}
	s, keyFile := siteWithFile(t)
	b, c := s.start(t, keyFile, "b"), s.start(t, keyFile, "c")
	a := join(t, s.config("a", mount("*")))
	a.shared(t, "work.once", 1, 2) // a host is known before its tools are
	a.shared(t, "work.again", 1, 2)

	var killed sync.Once
	l := a.load(t, 32, func(i int64) bool {
		if i == int64(calls/4) {
			killed.Do(func() { _ = b.Process.Kill() })
		}
		return i <= int64(calls)
	})
	l.check(t, b, c)
	if n := l.refused.Load(); n > 0 {
		t.Errorf("%d calls found no host, and there is one", n)
	}
}

// The server is restarted: hosts find each other again, and calls wait for it.
func TestRestartedServer(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	join(t, s.config("b", share("*")), says("who", "b", idempotent))
	a := join(t, s.config("a", mount("*")))
	a.text(t, "who")
	at := require.Must(url.Parse(s.URL()))(t)
	port := require.Must(strconv.Atoi(at.Port()))(t)
	_ = s.Close(context.Background())
	again := require.Must(embedded.Start(embedded.Config{Keys: []string{s.key.Public()}, Port: port}))(t)
	t.Cleanup(func() { _ = again.Close(context.Background()) })
	require.Eventually(t, "a call", func() bool {
		_, err := a.Execute(t.Context(), tool.Call{Name: "who"})
		return err == nil
	})
}

// Strangers write to all subjects of the fleet, and repeat what they have heard.
func TestStrangers(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	stranger := s.connect(t)
	var heard []*nats.Msg
	var mu sync.Mutex
	require.Must(stranger.Subscribe("toolhost.>", func(m *nats.Msg) {
		mu.Lock()
		defer mu.Unlock()
		if len(heard) < 5000 {
			heard = append(heard, m)
		}
	}))(t)
	var ran atomic.Int64
	b := join(t, s.config("b", share("*")), handler("count", func(context.Context, tool.Call) (tool.Result, error) {
		ran.Add(1)
		return tool.Text("b"), nil
	}))
	a := join(t, s.config("a", mount("*")))
	for range 20 {
		a.text(t, "count")
	}
	require.Eventually(t, "what the stranger hears", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return len(heard) >= 20
	})
	mu.Lock()
	repeated := append([]*nats.Msg{}, heard...)
	mu.Unlock()
	for _, m := range repeated {
		_ = stranger.PublishRequest(m.Subject, stranger.NewInbox(), m.Data)
	}
	noise := make([]byte, 3000)
	for i := range 2000 {
		_, _ = rand.Read(noise)
		for _, subject := range []string{
			"toolhost.v1.hello." + s.key.Public(), "toolhost.v1.who", "toolhost.v1.h." + b.Hosts()[0].Instance + ".open", repeated[i%len(repeated)].Subject,
		} {
			_ = stranger.Publish(subject, noise[:i])
		}
	}
	require.NoError(t, stranger.Flush())
	require.Eventually(t, "a call among the noise", func() bool {
		_, err := a.Execute(t.Context(), tool.Call{Name: "count"})
		return err == nil
	})
	if n := ran.Load(); n < 21 || n > 30 {
		t.Errorf("the tool ran %d times", n)
	}
}

// connect returns a connection that may use the server, and is not a host.
func (s *site) connect(t testing.TB) *nats.Conn {
	t.Helper()
	nc := require.Must(nats.Connect(s.URL(), nats.Nkey(s.key.Public(), s.key.Sign)))(t)
	t.Cleanup(nc.Close)
	return nc
}

// Hosts whose keys are not known see nothing and call nothing, and are shown.
func TestUnknownHost(t *testing.T) {
	t.Parallel()
	own, other := newKey(t), newKey(t)
	s := siteOf(t, own, other)
	b := join(t, s.config("b", share("*")), says("who", "b"))
	x := join(t, fleet.Config{URL: s.URL(), Key: other, Name: "x", Mount: []string{"*"}, Share: []string{"*"}}, says("trap", "x"))
	require.Eventually(t, "the stranger", func() bool { return len(b.Hosts()) == 2 })
	if got := b.Hosts()[1]; got.State != fleet.HostRefused || got.Name != "x" || got.Key != other.Public() {
		t.Errorf("%+v", got)
	}
	if x.has("who") || b.has("trap") {
		t.Error("hosts that do not know each other share tools")
	}
	// Once it is known, its tools come.
	c := s.config("b", share("*"), mount("*"))
	c.Peers = map[string]fleet.Peer{"guest": {Key: other.Public()}}
	require.NoError(t, b.Fleet.Reconfigure(c))
	reason := func() string {
		for _, h := range b.Hosts() {
			if h.Name == "x" {
				return h.Reason
			}
		}
		return "it is not there"
	}
	if got := b.state("x"); got == fleet.HostRefused && !strings.Contains(reason(), "does not know the key "+own.Public()) {
		t.Error("a host that is known now is shown as one that is not")
	}
	require.Eventually(t, "why its tools are not there", func() bool {
		return strings.Contains(reason(), "host x does not know the key "+own.Public()+": add it under nats.peers there")
	})
	friend := fleet.Peer{Key: own.Public(), Share: []string{}}
	c = fleet.Config{Mount: []string{"*"}, Share: []string{"*"}, Peers: map[string]fleet.Peer{"friend": friend}}
	require.NoError(t, x.Fleet.Reconfigure(c))
	require.Eventually(t, "its tools", func() bool { return x.has("who") })
	require.Eventually(t, "an end of the reason", func() bool { return reason() == "" })
	if b.has("trap") {
		t.Error("a peer sees a tool that is not shared with it")
	}
}

func newKey(t testing.TB) fleet.Key {
	t.Helper()
	key := require.Must(fleet.NewKey())(t)
	return key
}

// A server that lets messages be 64 KiB at most carries results of megabytes.
func TestLargeResult(t *testing.T) {
	t.Parallel()
	key := newKey(t)
	bus := require.Must(embedded.Start(embedded.Config{Keys: []string{key.Public()}, MaxPayload: 64 << 10}))(t)
	t.Cleanup(func() { _ = bus.Close(context.Background()) })
	s := &site{Server: bus, key: key}
	large := make([]byte, 8<<20)
	for i := range large {
		large[i] = 'a' + byte(i%26)
	}
	join(t, s.config("b", share("*")), says("large", string(large)))
	a := join(t, s.config("a", mount("*")))
	if got := a.text(t, "large"); got != string(large) {
		t.Errorf("%d bytes came, of %d", len(got), len(large))
	}
}

// Different definitions of a name are versions: the rule chooses, never chance.
func TestVersions(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	label := func(key, value string) func(*fleet.Config) {
		return func(c *fleet.Config) { c.Labels = map[string]string{key: value} }
	}
	join(t, s.config("b", share("*"), label("gpu", "1")), says("who", "b"))
	join(t, s.config("c", share("*")), says("who", "c", idempotent))
	for _, rule := range []struct {
		rule fleet.Rule
		want string
	}{
		{fleet.Rule{Tools: "*", Labels: map[string]string{"gpu": "1"}}, "b"},
		{fleet.Rule{Tools: "*", Avoid: map[string]string{"gpu": "1"}}, ""},
	} {
		ruled := func(c *fleet.Config) { c.Rules = []fleet.Rule{rule.rule} }
		a := join(t, s.config(fmt.Sprintf("a%d", len(rule.rule.Labels)), mount("*"), ruled))
		a.shared(t, "who", 2, 2)
		first := a.text(t, "who")
		if rule.want != "" && first != rule.want {
			t.Errorf("the call went to %s, not %s", first, rule.want)
		}
		for range 20 {
			if got := a.text(t, "who"); got != first {
				t.Fatalf("calls went to %s and %s", first, got)
			}
		}
	}
}

// A server without any users is joined too: what hosts say is signed and sealed all the same.
func TestOpenServer(t *testing.T) {
	t.Parallel()
	open, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: server.RANDOM_PORT, NoLog: true, NoSigs: true})
	require.NoError(t, err)
	open.Start()
	t.Cleanup(open.Shutdown)
	key := newKey(t)
	join(t, fleet.Config{URL: open.ClientURL(), Key: key, Name: "b", Share: []string{"*"}}, says("who", "b"))
	a := join(t, fleet.Config{URL: open.ClientURL(), Key: key, Name: "a", Mount: []string{"*"}})
	assert.Equal(t, a.text(t, "who"), "b")
}

// Whoever the server does not let in is told so, also if it would go on trying.
func TestRefusedByServer(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	h := join(t, s.config("b"))
	_, err := fleet.Join(t.Context(), h.Host, fleet.Config{URL: s.URL(), Key: newKey(t), Name: "x", KeepTrying: true})
	assert.Equalf(t, tool.CodeOf(err), tool.CodePermissionDenied, "%v", err)
	_, err = fleet.Join(t.Context(), h.Host, fleet.Config{URL: "nats://127.0.0.1:1", Key: s.key, Name: "x"})
	assert.Equalf(t, tool.CodeOf(err), tool.CodeUnavailable, "%v", err)
}

// A host that mounts nothing at first mounts when it is reconfigured.
func TestMountLater(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	join(t, s.config("b", share("*")), says("who", "b"))
	a := join(t, s.config("a"))
	require.NoError(t, a.Fleet.Reconfigure(s.config("a", mount("*"))))
	assert.Equal(t, a.text(t, "who"), "b")
	require.NoError(t, a.Fleet.Reconfigure(s.config("a")))
	require.Eventually(t, "the end of the tool", func() bool { return !a.has("who") })
}

// A host cannot pass for another by its name.
func TestNameOfAnother(t *testing.T) {
	t.Parallel()
	own, other := newKey(t), newKey(t)
	s := siteOf(t, own, other)
	join(t, s.config("b", share("*")), says("who", "b"))
	c := s.config("b", share("*"))
	c.Key, c.Peers = other, map[string]fleet.Peer{"ay": {Key: own.Public()}}
	join(t, c, says("who", "an impostor"))
	a := join(t, s.config("a", mount("*"), func(c *fleet.Config) {
		c.Peers = map[string]fleet.Peer{"partner": {Key: other.Public()}}
	}))
	a.shared(t, "who", 1, 2)
	if _, err := a.Fleet.Execute(fleet.On(t.Context(), "b"), tool.Call{Name: "who"}); err == nil || !strings.Contains(err.Error(), "different keys") {
		t.Errorf("%v", err)
	}
	if res, err := a.Fleet.Execute(fleet.On(t.Context(), "partner"), tool.Call{Name: "who"}); err != nil || res.Text() != "an impostor" {
		t.Errorf("%v %v", res.Text(), err)
	}
	if err := a.Drain(t.Context(), "b", true); tool.CodeOf(err) != tool.CodeAlreadyExists {
		t.Errorf("%v", err)
	}
}

// A host that changes its key is one: --on goes to it while both of its keys are in one entry of its peers and both starts are
// there. In a group of keys, only a name that a host gives itself says which one is meant.
func TestOnWhileKeyChanges(t *testing.T) {
	t.Parallel()
	own, old, next, third := newKey(t), newKey(t), newKey(t), newKey(t)
	s := siteOf(t, own, old, next, third)
	desk := map[string]fleet.Peer{"desk": {Key: old.Public(), Keys: []string{next.Public(), third.Public()}}}
	a := join(t, s.config("a", mount("*"), func(c *fleet.Config) { c.Peers = desk }))
	start := func(name, text string, key fleet.Key) {
		c := s.config(name, share("*"))
		c.Key, c.Peers = key, map[string]fleet.Peer{"ay": {Key: own.Public()}}
		join(t, c, says("who", text))
	}
	start("w", "old", old)
	start("w", "next", next)
	a.shared(t, "who", 1, 2)
	for _, name := range []string{"w", "desk"} {
		if _, err := a.Fleet.Execute(fleet.On(t.Context(), name), tool.Call{Name: "who"}); err != nil {
			t.Errorf("on %s: %v", name, err)
		}
	}
	start("third", "third", third)
	a.shared(t, "who", 1, 3)
	for name, fails := range map[string]bool{"w": false, "third": false, "desk": true} {
		_, err := a.Fleet.Execute(fleet.On(t.Context(), name), tool.Call{Name: "who"})
		if fails != (err != nil && strings.Contains(err.Error(), "different keys")) {
			t.Errorf("on %s: %v", name, err)
		}
	}
}
