package natstest

import (
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// Bubble runs a test in a bubble of testing/synctest, whose clock goes on when all wait: what takes seconds takes
// none, and bounds are exact. The server that users may log in to is real, as are the connections to it, over
// pipes in memory: clients have [nats.InProcessServer] as an option. It ends after the test, and what has not ended
// a minute later has leaked, and fails it.
//
// A test in a bubble is not parallel. NATS keeps timers, and package wire channels, for those that come next; one
// of a bubble ends the process if it is used outside, and one of outside holds up a bubble's clock. So the pools
// are emptied, for which sync.Pool takes two collections. A client that writes holds its lock: a server, or what
// is between, that waits for the clock before it reads stops that for good.
func Bubble(t *testing.T, test func(*testing.T, *server.Server), users ...*server.NkeyUser) {
	t.Helper()
	empty := func() { runtime.GC(); runtime.GC() }
	empty()
	defer empty()
	synctest.Test(t, func(t *testing.T) {
		s, err := server.NewServer(&server.Options{DontListen: true, NoLog: true, NoSigs: true, Nkeys: users})
		if err != nil {
			t.Fatal(err)
		}
		s.Start()
		t.Cleanup(func() {
			s.Shutdown()
			s.WaitForShutdown()
			time.Sleep(time.Minute)
		})
		test(t, s)
	})
}
