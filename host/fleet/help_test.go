package fleet_test

import (
	"context"
	"encoding/json"
	"os"
	"testing"

	"github.com/hashicorp/go-hclog"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/fleet"
	"github.com/toolhost/toolhost/internal/embedded"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// site is a NATS server, and the key of all hosts at it.
type site struct {
	*embedded.Server
	key   fleet.Key
	url   string         // of servers that are not in this process, or in a bubble
	pipes *server.Server // in a bubble; nil: it is reached by its URL
}

// URL is where hosts connect to.
func (s *site) URL() string {
	if s.url != "" {
		return s.url
	}
	return s.Server.URL()
}

func newSite(t testing.TB) *site {
	t.Helper()
	return siteOf(t, newKey(t))
}

// siteWithFile is a site whose key is in a file, for hosts in processes of their own.
func siteWithFile(t testing.TB) (s *site, keyFile string) {
	t.Helper()
	keyFile = t.TempDir() + "/fleet.key"
	key := require.Must(fleet.KeyFile(keyFile))(t)
	return siteOf(t, key), keyFile
}

// siteOf is a site of hosts with a key, where others may log in too.
func siteOf(t testing.TB, key fleet.Key, others ...fleet.Key) *site {
	t.Helper()
	keys := []string{key.Public()}
	for _, other := range others {
		keys = append(keys, other.Public())
	}
	s := require.Must(embedded.Start(embedded.Config{Keys: keys}))(t)
	t.Cleanup(func() { _ = s.Close(context.Background()) })
	return &site{Server: s, key: key}
}

// config returns what a host shares and mounts at the site.
func (s *site) config(name string, change ...func(*fleet.Config)) fleet.Config {
	c := fleet.Config{URL: s.URL(), Key: s.key, Name: name}
	if s.pipes != nil {
		c.Options = []nats.Option{nats.InProcessServer(s.pipes)}
	}
	if os.Getenv("FLEET_LOG") != "" {
		c.Log = hclog.New(&hclog.LoggerOptions{Name: name, Level: hclog.Debug})
	}
	for _, f := range change {
		f(&c)
	}
	return c
}

func share(patterns ...string) func(*fleet.Config) {
	return func(c *fleet.Config) { c.Share = patterns }
}
func mount(patterns ...string) func(*fleet.Config) {
	return func(c *fleet.Config) { c.Mount = patterns }
}

// grants accepts all callers with capabilities.
func grants(caps ...tool.Capability) func(*fleet.Config) {
	return func(c *fleet.Config) {
		c.Accept = func(fleet.Caller) ([]host.SessionOption, error) {
			return []host.SessionOption{host.WithGrants(caps...)}, nil
		}
	}
}

// node is a host in a fleet.
type node struct {
	*host.Host
	*fleet.Fleet
}

func join(t testing.TB, c fleet.Config, tools ...tool.Tool) *node {
	t.Helper()
	return joined(t, newHost(t), c, tools...)
}

func newHost(t testing.TB, options ...host.Option) *host.Host {
	t.Helper()
	h := require.Must(host.New(options...))(t)
	t.Cleanup(func() { _ = h.Close(context.Background()) })
	return h
}

func joined(t testing.TB, h *host.Host, c fleet.Config, tools ...tool.Tool) *node {
	t.Helper()
	for _, one := range tools {
		require.NoError(t, h.Register(one))
	}
	f := require.Must(fleet.Join(t.Context(), h, c))(t)
	t.Cleanup(func() { _ = f.Close(context.Background()) })
	return &node{h, f}
}

// handler returns a tool.
func handler(name string, run tool.Handler, change ...func(*tool.Definition)) tool.Tool {
	d := tool.Definition{Name: name, Description: "A tool of a test.", Safety: tool.Safe}
	for _, f := range change {
		f(&d)
	}
	return tool.Tool{Definition: d, Handler: run}
}

// says returns a tool that answers with a text.
func says(name, text string, change ...func(*tool.Definition)) tool.Tool {
	return handler(name, func(context.Context, tool.Call) (tool.Result, error) { return tool.Text(text), nil }, change...)
}

func idempotent(d *tool.Definition) { d.Idempotent = true }

func (n *node) has(name string) bool {
	_, there := n.Get(name)
	return there
}

func (n *node) text(t testing.TB, name string) string {
	t.Helper()
	require.Eventually(t, "tool "+name, func() bool { return n.has(name) }) // the machine may be slow
	out := n.Call(t.Context(), tool.Call{Name: name, Arguments: json.RawMessage("{}")})
	if !out.Success {
		t.Fatalf("%s: %s", name, out.Content)
	}
	return out.Content
}

// shared waits until a tool has so many versions, of so many hosts together.
func (n *node) shared(t testing.TB, name string, versions, hosts int) fleet.ToolStatus {
	t.Helper()
	var out fleet.ToolStatus
	require.Eventually(t, "the hosts of "+name, func() bool {
		for _, out = range n.Fleet.Tools() {
			all := 0
			for _, v := range out.Versions {
				all += len(v.Hosts)
			}
			if out.Name == name && len(out.Versions) == versions && all == hosts && n.has(name) {
				return true
			}
		}
		return false
	})
	return out
}
