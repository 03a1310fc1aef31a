// Package natstest runs NATS servers and clusters of them in tests, as operators do.
package natstest

import (
	"fmt"
	"net"
	"net/url"
	"strings"
	"testing"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/toolhost/toolhost/internal/test/require"
)

// Cluster is three servers of this process, of which each can end and start again.
type Cluster struct {
	t       testing.TB
	options []*server.Options
	servers []*server.Server
}

const size = 3

// NewCluster starts a cluster with JetStream, which the public halves of keys may log in to. It ends with
// the test.
func NewCluster(t testing.TB, keys ...string) *Cluster {
	t.Helper()
	c := &Cluster{t: t, servers: make([]*server.Server, size)}
	ports := freePorts(t, 2*size)
	var routes []*url.URL
	for i := range size {
		routes = append(routes, &url.URL{Scheme: "nats-route", Host: fmt.Sprint("127.0.0.1:", ports[i])})
	}
	for i := range size {
		o := &server.Options{
			ServerName: fmt.Sprint("server-", i), Host: "127.0.0.1", Port: ports[size+i], NoLog: true, NoSigs: true,
			JetStream: true, StoreDir: t.TempDir(), DisableJetStreamBanner: true, Routes: routes,
			Cluster: server.ClusterOpts{Name: "test", Host: "127.0.0.1", Port: ports[i]},
		}
		for _, key := range keys {
			o.Nkeys = append(o.Nkeys, &server.NkeyUser{Nkey: key})
		}
		c.options = append(c.options, o)
		c.Start(i)
	}
	t.Cleanup(func() {
		for _, s := range c.servers {
			s.Shutdown()
			s.WaitForShutdown()
		}
	})
	c.Ready()
	return c
}

// freePorts returns ports of loopback that are free.
func freePorts(t testing.TB, n int) []int {
	t.Helper()
	var out []int
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // on loopback
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()                                 //nolint:errcheck // without connections
		out = append(out, l.Addr().(*net.TCPAddr).Port) //nolint:forcetypeassert // of a TCP listener
	}
	return out
}

// Start starts the i-th server, with what it has stored.
func (c *Cluster) Start(i int) {
	c.t.Helper()
	s, err := server.NewServer(c.options[i].Clone())
	if err != nil {
		c.t.Fatal(err)
	}
	c.servers[i] = s
	s.Start()
	if !s.ReadyForConnections(require.Ceiling) {
		c.t.Fatalf("server %d does not accept connections", i)
	}
}

// Stop ends the i-th server at once, with its connections.
func (c *Cluster) Stop(i int) {
	c.servers[i].Shutdown()
	c.servers[i].WaitForShutdown()
}

// Ready waits until each server has routes to the others and knows a leader.
func (c *Cluster) Ready() {
	c.t.Helper()
	require.Eventually(c.t, "the servers to agree", func() bool {
		leaders := 0
		for _, s := range c.servers {
			if !s.JetStreamIsCurrent() {
				return false
			}
			if s.JetStreamIsLeader() {
				leaders++
			}
		}
		return leaders == 1
	})
}

// StreamLeader returns the server that leads a stream of the account that everybody has.
func (c *Cluster) StreamLeader(stream string) int {
	c.t.Helper()
	leader := -1
	require.Eventually(c.t, "a leader of "+stream, func() bool {
		for i, s := range c.servers {
			if s.Running() && s.JetStreamIsStreamLeader("$G", stream) {
				leader = i
			}
		}
		return leader >= 0
	})
	return leader
}

// URL is the servers' URLs, that of the i-th one first.
func (c *Cluster) URL(i int) string {
	var all []string
	for n := range size {
		all = append(all, fmt.Sprint("nats://127.0.0.1:", c.options[(i+n)%size].Port))
	}
	return strings.Join(all, ",")
}
