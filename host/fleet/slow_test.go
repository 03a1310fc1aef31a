package fleet_test

import (
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"github.com/toolhost/toolhost/host/fleet"
	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// A host stops reading. In the one case nothing happens to its connection, in the other the server has more for
// it than it keeps, and ends that. Either way its calls end, others' go on, and it comes back.
func TestHostThatDoesNotRead(t *testing.T) {
	t.Parallel()
	for name, flood := range map[string]int{"quiet": 0, "flooded": 2000} {
		t.Run(name, func(t *testing.T) {
			if testing.Short() && flood == 0 {
				t.Skip("takes 4 s of CPU time: .ci/long runs it, and TestHostOutOfReach is its like by day")
			}
			t.Parallel()
			keyFile := t.TempDir() + "/fleet.key"
			key := require.Must(fleet.KeyFile(keyFile))(t)
			bus := require.Must(server.NewServer(&server.Options{
				Host: "127.0.0.1", Port: server.RANDOM_PORT, NoLog: true, NoSigs: true, MaxPending: 1 << 20,
				Nkeys: []*server.NkeyUser{{Nkey: key.Public()}},
			}))(t)
			bus.Start()
			t.Cleanup(bus.Shutdown)
			s := &site{key: key, url: bus.ClientURL()}
			b, c := s.start(t, keyFile, "b"), s.start(t, keyFile, "c")
			a := join(t, s.config("a", mount("*")))
			a.shared(t, "work.once", 1, 2)
			a.shared(t, "only.b", 1, 1)
			a.shared(t, "only.c", 1, 1)
			ended := a.underLoad(t, 8, 200)
			require.NoError(t, b.Process.Signal(syscall.SIGSTOP))
			t.Cleanup(func() { _ = b.Process.Signal(syscall.SIGCONT) })
			nc := require.Must(nats.Connect(s.URL(), nats.Nkey(key.Public(), key.Sign)))(t)
			defer nc.Close()
			for i := range flood {
				require.NoError(t, nc.Publish("toolhost.v1.hello."+s.key.Public(), make([]byte, 32<<10)))
				if i%8 == 0 { // the others have read so far, then: they are to be kept
					require.NoError(t, nc.Flush())
					a.text(t, "only.c")
				}
			}
			slowest := time.Duration(0)
			late := false
			require.Eventually(t, "the host to be gone", func() bool {
				at := time.Now()
				if _, err := a.Execute(t.Context(), tool.Call{Name: "only.c"}); err != nil {
					t.Error(err)
				}
				slowest = max(slowest, time.Since(at))
				late = late || a.state("b") == fleet.HostLate
				return a.state("b") == "" && !a.has("only.b")
			})
			if slowest > 20*50*time.Millisecond {
				t.Errorf("a call of another host took %v", slowest)
			}
			if !late && flood == 0 {
				t.Error("it was not late first")
			}
			if closed := bus.NumSlowConsumers() > 0; closed != (flood > 0) {
				t.Errorf("the server has ended its connection: %v", closed)
			}
			require.NoError(t, b.Process.Signal(syscall.SIGCONT))
			require.Eventually(t, "the host to be back", func() bool { return a.state("b") == fleet.HostReady && a.has("only.b") })
			assert.Equal(t, a.text(t, "only.b"), "b")
			l := ended()
			l.check(t, b, c)
			t.Logf("meanwhile the slowest call of another host took %v", slowest)
		})
	}
}
