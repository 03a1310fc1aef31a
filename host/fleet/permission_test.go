package fleet_test

import (
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"github.com/toolhost/toolhost/host/fleet"
	"github.com/toolhost/toolhost/internal/durable"
	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/natstest"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// serverOf starts a server that lets keys log in, each with its permissions; nil: it may do all.
func serverOf(t testing.TB, users map[fleet.Key]*server.Permissions) (url string) {
	t.Helper()
	var logins []*server.NkeyUser
	for key, may := range users {
		logins = append(logins, &server.NkeyUser{Nkey: key.Public(), Permissions: may})
	}
	return natstest.Start(t, logins...)
}

// What the documentation gives the user of a host is what the embedded server gives a peer.
func TestDocumentedPermissions(t *testing.T) {
	t.Parallel()
	text := require.Must(os.ReadFile("../../docs/fleet.md"))(t)
	_, block, _ := strings.Cut(string(text), "```conf file=nats-server.conf\n")
	block, _, _ = strings.Cut(block, "```")
	file := filepath.Join(t.TempDir(), "nats-server.conf")
	require.NoError(t, os.WriteFile(file, []byte(block), 0o600))
	o := require.Must(server.ProcessConfigFile(file))(t)
	p := o.Nkeys[0].Permissions
	publish, subscribe := fleet.Needs(true)
	if !slices.Equal(p.Publish.Allow, publish) || !slices.Equal(p.Subscribe.Allow, subscribe) {
		t.Errorf("docs/fleet.md has\n%q\n%q, and fleet.Needs\n%q\n%q", p.Publish.Allow, p.Subscribe.Allow, publish, subscribe)
	}
	if pub, sub := fleet.Needs(false); !slices.Equal(pub, publish[:2]) || !slices.Equal(sub, subscribe) {
		t.Errorf("without durable calls: %q %q", pub, sub)
	}
}

func denyPublish(subjects ...string) *server.Permissions {
	return &server.Permissions{Publish: &server.SubjectPermission{Deny: subjects}}
}

func denySubscribe(subjects ...string) *server.Permissions {
	return &server.Permissions{Subscribe: &server.SubjectPermission{Deny: subjects}}
}

// A user who may not use the subjects of the fleet does not join it, and is told the subject and what to do.
func TestJoinWithoutPermission(t *testing.T) {
	t.Parallel()
	for subject, may := range map[string]*server.Permissions{
		"Publish to toolhost.v1.hello.":      denyPublish("toolhost.v1.hello.>"),
		"Publish to toolhost.v1.who":         denyPublish("toolhost.>", "_INBOX.>"),
		"Subscription to toolhost.v1.hello.": denySubscribe("toolhost.v1.hello.>"),
		"Subscription to toolhost.v1.h.":     denySubscribe("toolhost.v1.h.>"),
		"Subscription to _INBOX.":            denySubscribe("_INBOX.>"),
	} {
		t.Run(subject, func(t *testing.T) {
			t.Parallel()
			key := newKey(t)
			url := serverOf(t, map[fleet.Key]*server.Permissions{key: may})
			_, err := fleet.Join(t.Context(), newHost(t), fleet.Config{URL: url, Key: key, Name: "a", Share: []string{"*"}, Mount: []string{"*"}})
			if e := tool.AsError(err); err == nil || e.Code != tool.CodePermissionDenied ||
				!strings.Contains(strings.ReplaceAll(e.Message, `"`, ""), subject) && subject != "Publish to toolhost.v1.who" ||
				!strings.Contains(e.OperatorHint, "needs toolhost.v1.>") {
				t.Errorf("%+v", err)
			}
		})
	}
}

// A subject that is only needed later is refused: the host is there, says what it lacks, and its calls end.
func TestLinkWithoutPermission(t *testing.T) {
	t.Parallel()
	for name, may := range map[string]*server.Permissions{
		"publish": denyPublish("toolhost.v1.l.>"), "subscribe": denySubscribe("toolhost.v1.l.>"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			key, other, third := newKey(t), newKey(t), newKey(t)
			url := serverOf(t, map[fleet.Key]*server.Permissions{key: may, other: nil, third: nil})
			with := func(key fleet.Key, name string, peers ...fleet.Key) fleet.Config {
				c := fleet.Config{URL: url, Key: key, Name: name, Peers: map[string]fleet.Peer{}, Mount: []string{"*"}, Share: []string{"*"}}
				for i, p := range peers {
					c.Peers[strconv.Itoa(i)] = fleet.Peer{Key: p.Public(), Admin: true}
				}
				return c
			}
			a := join(t, with(key, "a", other))
			join(t, with(other, "b", key, third), says("who", "b"))
			c := join(t, with(third, "c", other))
			require.Eventually(t, "the host", func() bool { return a.state("b") == fleet.HostReady })
			begin := time.Now()
			err := a.Drain(t.Context(), "b", false)
			if e := tool.AsError(err); err == nil || e.Code != tool.CodeUnavailable {
				t.Errorf("%v", err)
			}
			t.Logf("after %v: %v", time.Since(begin), err)
			assert.Containsf(t, a.Hosts()[0].Reason, "toolhost.v1.l.", "its status says")
			assert.Equal(t, c.text(t, "who"), "b")
			assert.Equalf(t, a.Hosts()[0].State, fleet.HostReady, "it is not there")
		})
	}
}

// A host whose user has what docs/fleet.md asks for, and may not use JetStream, joins, shares and is called. That the
// server refuses it the queue of durable calls, in which it would take part, is not a fault.
func TestJoinWithoutJetStream(t *testing.T) {
	t.Parallel()
	key := newKey(t)
	own := []string{"toolhost.v1.>", "_INBOX.>"}
	url := serverOf(t, map[fleet.Key]*server.Permissions{key: {
		Publish:   &server.SubjectPermission{Allow: own},
		Subscribe: &server.SubjectPermission{Allow: append([]string{"$SRV.>"}, own...)},
	}})
	log := new(lines)
	b := join(t, fleet.Config{
		URL: url, Key: key, Name: "b", Share: []string{"*"}, Log: hclog.New(&hclog.LoggerOptions{Level: hclog.Debug, Output: log}),
	}, says("who", "b"))
	a := join(t, fleet.Config{URL: url, Key: key, Name: "a", Mount: []string{"*"}})
	assert.Equal(t, a.text(t, "who"), "b")
	require.Eventually(t, "the server's no to the queue", func() bool { return strings.Contains(log.String(), "$JS.API.INFO") })
	if got := b.Hosts()[0]; got.State != fleet.HostReady || got.Reason != "" {
		t.Errorf("%+v", got)
	}
	assert.NotContainsf(t, log.String(), "[WARN]", "log")
	// Once there is a durable call, the operator is told that this host does not run it.
	nc := require.Must(nats.Connect(url, nats.Nkey(key.Public(), key.Sign)))(t)
	t.Cleanup(nc.Close)
	require.Eventually(t, "a warning", func() bool {
		require.NoError(t, nc.Publish(strings.Replace(durable.Nudges, "*", "x", 1), nil))
		return strings.Contains(log.String(), "[WARN]  the durable calls of other hosts do not run here")
	})
}

// What a URL has of a user's password or token is not shown when the server is not reached, or refuses the user.
func TestJoinHidesPassword(t *testing.T) {
	t.Parallel()
	url := strings.TrimPrefix(serverOf(t, map[fleet.Key]*server.Permissions{newKey(t): nil}), "nats://")
	ln := require.Must(net.Listen("tcp", "127.0.0.1:0"))(t)
	closed := ln.Addr().String()
	require.NoError(t, ln.Close())
	for _, urls := range []string{"nats://joe:s3cret@" + url, "nats://s3cret@" + closed, "nats://" + closed + ",nats://joe:s3cret@" + closed} {
		_, err := fleet.Join(t.Context(), newHost(t), fleet.Config{URL: urls, Key: newKey(t), Name: "a"})
		if err == nil || strings.Contains(err.Error(), "s3cret") || !strings.Contains(err.Error(), "nats://(hidden)@127.0.0.1:") {
			t.Errorf("%s: %v", urls, err)
		}
	}
}

// A host that is turned away by a server again and again says so once.
func TestLossIsToldOnce(t *testing.T) {
	t.Parallel()
	ln := require.Must(net.Listen("tcp", "127.0.0.1:0"))(t)
	var attempts atomic.Int32
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			attempts.Add(1)
			_ = c.Close()
		}
	}()
	t.Cleanup(func() { _ = ln.Close() })
	log := new(lines)
	a := join(t, fleet.Config{
		URL: "nats://" + ln.Addr().String(), KeepTrying: true, Key: newKey(t), Name: "a",
		Log: hclog.New(&hclog.LoggerOptions{Level: hclog.Warn, Output: log}),
	})
	require.Eventually(t, "more attempts", func() bool { return attempts.Load() > 8 })
	const lost = "the connection to the NATS server is lost"
	if text := log.String(); strings.Count(text, lost) > 1 || !strings.Contains(text, "no NATS server is reached") {
		t.Errorf("log: %s", text)
	}
	if got := a.Hosts()[0]; got.State != fleet.HostLate || !strings.HasSuffix(got.Reason, "no connection to the NATS server: EOF") {
		t.Errorf("%+v", got)
	}
}
