package fleet_test

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"golang.org/x/sys/unix"

	"github.com/toolhost/toolhost/host/fleet"
	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// spaces are network namespaces: one with a NATS server behind a bridge, and one for each host.
type spaces struct {
	t      *testing.T
	prefix string
	hosts  []string
}

var spacesMade atomic.Int32

const serverAddress = "10.99.0.1"

// newSpaces makes namespaces for hosts, and removes them when the test has ended.
func newSpaces(t *testing.T, hosts ...string) *spaces {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("network namespaces need root")
	}
	if _, err := exec.LookPath("ip"); err != nil {
		t.Skip("network namespaces need the command ip, of Debian's iproute2")
	}
	s := &spaces{t: t, prefix: fmt.Sprintf("toolhost-%d-%d-", os.Getpid(), spacesMade.Add(1)), hosts: hosts}
	for i, name := range append([]string{"hub"}, hosts...) {
		add := exec.CommandContext(t.Context(), "ip", "netns", "add", s.prefix+name) //nolint:gosec // of this test
		if out, err := add.CombinedOutput(); err != nil {
			if i == 0 {
				t.Skipf("this machine lets root make no network namespaces: %v: %s", err, out)
			}
			t.Fatalf("%v: %s", err, out)
		}
		t.Cleanup(func() {
			if out, err := exec.Command("ip", "netns", "del", s.prefix+name).CombinedOutput(); err != nil { //nolint:gosec,noctx // of this test
				t.Errorf("%v: %s", err, out)
			}
		})
	}
	s.ip("hub", "link add bridge type bridge")
	s.ip("hub", "addr add "+serverAddress+"/24 dev bridge")
	s.ip("hub", "link set bridge up")
	s.ip("hub", "link set lo up")
	for i, name := range hosts {
		s.ip("hub", "link add to-"+name+" type veth peer name eth0 netns "+s.prefix+name)
		s.ip("hub", "link set to-"+name+" master bridge up")
		s.ip(name, fmt.Sprintf("addr add %s/24 dev eth0", address(i)))
		s.ip(name, "link set eth0 up")
		s.ip(name, "link set lo up")
	}
	return s
}

func address(host int) string { return fmt.Sprint("10.99.0.", 10+host) }

// ip runs the command in a namespace.
func (s *spaces) ip(space, args string) {
	s.t.Helper()
	all := append([]string{"-n", s.prefix + space}, strings.Fields(args)...)
	out, err := exec.CommandContext(s.t.Context(), "ip", all...).CombinedOutput() //nolint:gosec // of this test
	if err != nil {
		s.t.Fatalf("ip %s: %v: %s", args, err, out)
	}
}

// in has a process run in a namespace, and find the server there.
func (s *spaces) in(space string) func(*nodeSpec) {
	return func(spec *nodeSpec) { spec.Space = s.prefix + space }
}

// dialer connects from a namespace, though its process is elsewhere.
type dialer struct{ space string }

// Dial implements [nats.CustomDialer].
func (d dialer) Dial(network, address string) (net.Conn, error) {
	runtime.LockOSThread()
	own, err := os.Open("/proc/thread-self/ns/net")
	if err != nil {
		return nil, err
	}
	defer own.Close() //nolint:errcheck // it is only read
	there, err := os.Open("/run/netns/" + d.space)
	if err != nil {
		return nil, err
	}
	defer there.Close()                                                    //nolint:errcheck // it is only read
	if err := unix.Setns(int(there.Fd()), unix.CLONE_NEWNET); err != nil { //nolint:gosec // a descriptor
		return nil, err
	}
	conn, err := net.DialTimeout(network, address, 5*time.Second)
	if unix.Setns(int(own.Fd()), unix.CLONE_NEWNET) == nil { //nolint:gosec // a descriptor
		runtime.UnlockOSThread() // otherwise the thread ends with the goroutine
	}
	return conn, err
}

// A host is cut off from the others, whose packets vanish, and comes back: first in both directions, and
// then only what is sent to it is lost. Calls end in the time that is promised.
func TestPartition(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 15 s of CPU time: .ci/long runs it, and TestHostOutOfReach is its like by day")
	}
	t.Parallel()
	net := newSpaces(t, "a", "b", "c")
	keyFile := t.TempDir() + "/fleet.key"
	key := require.Must(fleet.KeyFile(keyFile))(t)
	s := &site{key: key, url: fmt.Sprintf("nats://%s:%d", serverAddress, serverPort)}
	s.start(t, keyFile, "server", net.in("hub"), func(spec *nodeSpec) { spec.Server = serverAddress })
	b := s.start(t, keyFile, "b", net.in("b"))
	c := s.start(t, keyFile, "c", net.in("c"))
	a := join(t, s.config("a", mount("*"), func(c *fleet.Config) {
		c.Options = []nats.Option{nats.SetCustomDialer(dialer{net.prefix + "a"})}
	}))
	a.shared(t, "work.once", 1, 2)
	a.shared(t, "only.b", 1, 1)
	for _, cut := range []struct{ name, space, begin, end string }{
		{"both directions", "hub", "link set to-b down", "link set to-b up"},
		{"to the host", "hub", "route add blackhole " + address(1) + "/32", "route del blackhole " + address(1) + "/32"},
		{"from the host", "b", "route add blackhole " + serverAddress + "/32", "route del blackhole " + serverAddress + "/32"},
	} {
		ended := a.underLoad(t, 16, 1000)
		net.ip(cut.space, cut.begin)
		at := time.Now()
		require.Eventually(t, "the host to be gone", func() bool { return a.state("b") == "" && !a.has("only.b") })
		t.Logf("%s: the host is gone after %v", cut.name, time.Since(at))
		if _, err := a.Execute(t.Context(), tool.Call{Name: "only.b"}); tool.CodeOf(err) != tool.CodeNotFound {
			t.Errorf("%v", err)
		}
		net.ip(cut.space, cut.end)
		at = time.Now()
		require.Eventually(t, "the host to be back", func() bool { return a.has("only.b") })
		t.Logf("%s: it is back after %v", cut.name, time.Since(at))
		assert.Equal(t, a.text(t, "only.b"), "b")
		l := ended()
		l.check(t, b, c)
		for _, p := range []*process{b, c} {
			require.NoError(t, os.Truncate(p.ledger, 0))
		}
		if l.lost.Load() == 0 {
			t.Logf("%s: no call was lost", cut.name)
		}
	}
}
