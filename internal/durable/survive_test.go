package durable_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/toolhost/toolhost/internal/durable"
	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// process is a worker in a process of its own.
type process struct {
	t   testing.TB
	cmd *exec.Cmd
}

// startProcess starts a worker with the n-th key, and returns when it takes calls.
func (s *site) startProcess(n int, file string, slow bool) *process {
	s.t.Helper()
	return s.startAs(processSpec{URL: s.URL(), Seed: s.seeds[n], Peer: s.public[0], Ledger: file, Slow: slow})
}

// startAs starts a process, and returns when it is ready.
func (s *site) startAs(is processSpec) *process {
	s.t.Helper()
	spec, err := json.Marshal(is)
	if err != nil {
		s.t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0]) //nolint:gosec // this test
	cmd.Env = append(os.Environ(), "DURABLE_TEST_WORKER="+string(spec))
	cmd.Stderr = os.Stderr
	if _, err := cmd.StdinPipe(); err != nil { // its end is that of the test, however that ends
		s.t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		s.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	p := &process{s.t, cmd}
	s.t.Cleanup(p.kill)
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "ready\n" {
		s.t.Fatalf("the worker says %q, %v", line, err)
	}
	return p
}

// kill ends it as a machine that loses its power does.
func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait()
}

func unknown(c durable.Call) bool {
	_, err := c.Outcome()
	return errors.Is(err, durable.ErrOutcomeUnknown)
}

func lines(t testing.TB, file string) map[string]int {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	out := map[string]int{}
	for line := range strings.Lines(string(text)) {
		out[strings.TrimSpace(line)]++
	}
	return out
}

// A worker dies while it runs a call: at least once runs it again elsewhere, at most once says that
// it is not known how it ended.
func TestWorkerKilled(t *testing.T) {
	t.Parallel()
	s, file := newSite(t, 3), filepath.Join(t.TempDir(), "ledger")
	first := s.startProcess(1, file, true)
	caller := s.join(0, nil, remote(processTools(file, false)...), trusting(s.peers(1, 2)), func(c *durable.Config) { c.Lapse = time.Second })
	once := caller.submit(t, durable.Request{Tool: "once.add", Arguments: args("once")})
	many := caller.submit(t, durable.Request{Tool: "many.add", Arguments: args("many")})
	require.Eventually(t, "both run", func() bool { l := lines(t, file); return l["once"] == 1 && l["many"] == 1 })
	if c, err := caller.Get(t.Context(), once); err != nil || c.State != durable.StateRunning || !strings.HasPrefix(c.Worker, "process-") {
		t.Errorf("it runs as %+v, %v", c, err)
	}
	first.kill()
	s.startProcess(2, file, false)
	if c := caller.wait(t, many); c.State != durable.StateDone || c.Result.Text() != "did many" || c.Attempts != 2 {
		t.Errorf("at least once: %+v", c)
	}
	c := caller.wait(t, once)
	if c.State != durable.StateFailed || !unknown(c) || c.Error.Code != tool.CodeUnavailable || c.Attempts != 1 {
		t.Errorf("at most once: %+v", c)
	}
	if l := lines(t, file); l["once"] != 1 || l["many"] != 2 {
		t.Errorf("the ledger has %v", l)
	}
}

// A call that may run once does not run again, although the acknowledgement of the worker that died was lost.
func TestLostAcknowledgement(t *testing.T) {
	t.Parallel()
	s, l := newKeys(t, 3), new(ledger)
	s.denying(1, "$JS.ACK.>")
	release := make(chan struct{})
	defer close(release)
	add := noted("add", l, false, func(context.Context, string) (tool.Result, error) {
		<-release
		return tool.Result{}, nil
	})
	lapse := func(c *durable.Config) { c.Lapse = time.Second }
	caller := s.join(0, nil, remote(add), trusting(s.peers(1, 2)), lapse)
	worker := s.join(1, []tool.Tool{add}, trusting(s.peers(0)), lapse)
	id := caller.submit(t, durable.Request{Tool: "add", Arguments: args("a")})
	require.Eventually(t, "it runs", func() bool { return l.count("a") == 1 })
	worker.nc.Close()
	s.join(2, []tool.Tool{add}, trusting(s.peers(0)), lapse)
	queue := require.Must(require.Must(jetstream.New(caller.nc))(t).Stream(t.Context(), durable.QueueName))(t)
	require.Eventually(t, "another takes it out of the queue", func() bool {
		return require.Must(queue.Info(t.Context()))(t).State.Msgs == 0
	})
	if c := caller.wait(t, id); c.State != durable.StateFailed || !unknown(c) || l.count("a") != 1 {
		t.Errorf("it ran %d times, %+v", l.count("a"), c)
	}
}

// The caller starts again and finds its calls by their ID; the server too, with what it has stored.
func TestRestarts(t *testing.T) {
	t.Parallel()
	s, l := newSite(t, 2), new(ledger)
	add := noted("add", l, false, nil)
	release := make(chan struct{})
	slow := noted("slow", l, false, func(context.Context, string) (tool.Result, error) {
		<-release
		return tool.Text("slowly"), nil
	})
	caller := s.join(0, nil, remote(add, slow), trusting(s.peers(1)))
	queued := caller.submit(t, durable.Request{Tool: "add", Arguments: args("a")})
	require.NoError(t, caller.Close(t.Context()))
	caller.nc.Close()
	s.restart()
	s.join(1, []tool.Tool{add, slow}, trusting(s.peers(0)))
	caller = s.join(0, nil, remote(add, slow), trusting(s.peers(1)))
	if c := caller.wait(t, queued); c.State != durable.StateDone || c.Result.Text() != "did a" {
		t.Errorf("after a restart of everything: %+v", c)
	}

	// Now the server goes while a call runs, and comes back after its end, and while a caller waits.
	running := caller.submit(t, durable.Request{Tool: "slow", Arguments: args("b")})
	require.Eventually(t, "it runs", func() bool { return l.count("b") == 1 })
	waited := make(chan durable.Call, 1)
	go func() {
		c, err := caller.Wait(t.Context(), running)
		assert.NoError(t, err)
		waited <- c
	}()
	require.NoError(t, s.server.Close(t.Context()))
	close(release)
	s.start()
	select {
	case c := <-waited:
		if c.State != durable.StateDone || c.Result == nil || c.Result.Text() != "slowly" {
			t.Errorf("after the server's restart: %+v, %v", c, c.Error)
		}
	case <-time.After(ceiling):
		t.Fatal("how it ended is not told")
	}
	if l.count("a") != 1 || l.count("b") != 1 {
		t.Errorf("the ledger has %v", l.runs)
	}
}

// A host that ends gives back what may run again, and says of the rest that its outcome is unknown.
func TestWorkerEnds(t *testing.T) {
	t.Parallel()
	s, l := newSite(t, 3), new(ledger)
	stuck := func(ctx context.Context, _ string) (tool.Result, error) {
		<-ctx.Done()
		return tool.Result{}, ctx.Err()
	}
	worker := s.join(1, []tool.Tool{noted("once", l, false, stuck), noted("many", l, true, stuck)}, trusting(s.peers(0)))
	caller := s.join(0, nil, remote(noted("once", l, false, nil), noted("many", l, true, nil)), trusting(s.peers(1, 2)))
	once := caller.submit(t, durable.Request{Tool: "once", Arguments: args("once")})
	many := caller.submit(t, durable.Request{Tool: "many", Arguments: args("many")})
	require.Eventually(t, "both run", func() bool { return l.count("once") == 1 && l.count("many") == 1 })
	worker.end()
	if c := caller.wait(t, once); c.State != durable.StateFailed || !unknown(c) {
		t.Errorf("at most once: %+v", c)
	}
	if c, err := caller.Get(t.Context(), many); err != nil || c.State != durable.StateQueued {
		t.Errorf("given back: %+v, %v", c, err)
	}
	s.join(2, []tool.Tool{noted("once", l, false, nil), noted("many", l, true, nil)}, trusting(s.peers(0)))
	if c := caller.wait(t, many); c.State != durable.StateDone || c.Attempts != 2 || c.Worker != "name-2" {
		t.Errorf("at least once: %+v, %v", c, c.Error)
	}
}

// A call that ends every worker is given to some, and then fails.
func TestPoison(t *testing.T) {
	t.Parallel()
	s, file := newSite(t, 3), filepath.Join(t.TempDir(), "ledger")
	caller := s.join(0, nil, remote(processTools(file, false)...), trusting(s.peers(1, 2)), func(c *durable.Config) { c.Lapse = time.Second })
	id := caller.submit(t, durable.Request{Tool: "many.add", Arguments: args("poison")})
	for n := range 2 {
		p := s.startProcess(1, file, true)
		require.Eventually(t, "it runs", func() bool { return lines(t, file)["poison"] == n+1 })
		p.kill()
	}
	s.join(2, processTools(file, false), trusting(s.peers(0)), func(c *durable.Config) { c.Attempts = 2; c.Lapse = time.Second })
	if c := caller.wait(t, id); c.State != durable.StateFailed || c.Error.Code != tool.CodeCrashed || !strings.Contains(c.Error.Message, "2 times") {
		t.Errorf("%+v, %v", c, c.Error)
	}
	if n := lines(t, file)["poison"]; n != 2 {
		t.Errorf("it ran %d times", n)
	}
}

// A call that comes to hosts which may not run it, or to one that cannot run it yet, has not been attempted: it
// waits for one that can.
func TestNotAttempted(t *testing.T) {
	t.Parallel()
	s, l := newSite(t, 3), new(ledger)
	add := noted("add", l, true, nil)
	add.RateLimit = &tool.RateLimit{Calls: 1, Period: tool.Duration(time.Second)}
	once := func(c *durable.Config) { c.Attempts, c.Lapse = 1, 2*time.Second }
	caller := s.join(0, nil, remote(add), trusting(s.peers(2)))
	other := s.join(1, []tool.Tool{add}, trusting(s.peers(2)), once)
	ids := []string{}
	for i := range 3 {
		ids = append(ids, caller.submit(t, durable.Request{Tool: "add", Arguments: args(fmt.Sprint(i)), TTL: ceiling}))
	}
	queue := require.Must(s.stranger(t, 0).js.Stream(t.Context(), durable.QueueName))(t)
	require.Eventually(t, "they come to the other host a second time", func() bool {
		for c := range queue.ListConsumers(t.Context()).Info() {
			return c.Delivered.Consumer >= 6
		}
		return false
	})
	other.end()
	s.join(2, []tool.Tool{add}, trusting(s.peers(0)), once)
	for _, id := range ids {
		if c := caller.wait(t, id); c.State != durable.StateDone || c.Attempts != 1 {
			t.Errorf("%+v %v", c, c.Error)
		}
	}
	if l.all.Load() != 3 {
		t.Errorf("they ran %d times", l.all.Load())
	}
}

// 500 calls, while workers come and go: at most once never twice, and each ends; at least once all
// succeed.
func TestChurn(t *testing.T) {
	t.Parallel()
	calls := 250 // of each mode
	if testing.Short() {
		calls = 25
	}
	s, file := newSite(t, 4), filepath.Join(t.TempDir(), "ledger")
	caller := s.join(0, nil, remote(processTools(file, false)...), trusting(s.peers(1, 2, 3)), func(c *durable.Config) { c.Lapse = time.Second })
	stop, churned := make(chan struct{}), make(chan int)
	workers := []*process{nil, s.startProcess(1, file, false), s.startProcess(2, file, false), s.startProcess(3, file, false)}
	go func() {
		kills := 0
		for n := 1; ; n = n%3 + 1 {
			select {
			case <-stop:
				churned <- kills
				return
			default:
			}
			before := total(t, file)
			require.Eventually(t, "calls run", func() bool {
				select {
				case <-stop:
					return true
				default:
					return total(t, file) >= before+10
				}
			})
			workers[n].kill()
			kills++
			workers[n] = s.startProcess(n, file, false)
		}
	}()
	var all sync.WaitGroup
	var mu sync.Mutex
	ends := map[string]map[string]int{}
	for i := range 2 * calls {
		name, text := []string{"once.add", "many.add"}[i%2], fmt.Sprint(i)
		id := caller.submit(t, durable.Request{Tool: name, Arguments: args(name + "/" + text)})
		all.Go(func() {
			c := caller.wait(t, id)
			end := string(c.State)
			if unknown(c) {
				end = "unknown"
			} else if c.Error != nil {
				end = c.Error.Error()
			}
			mu.Lock()
			defer mu.Unlock()
			if ends[name] == nil {
				ends[name] = map[string]int{}
			}
			ends[name][end]++
		})
	}
	all.Wait()
	close(stop)
	kills := <-churned
	ran := lines(t, file)
	for text, n := range ran {
		if strings.HasPrefix(text, "once.add/") && n != 1 {
			t.Errorf("%s ran %d times", text, n)
		}
	}
	once, many := ends["once.add"], ends["many.add"]
	if once["done"]+once["unknown"] != calls || many["done"] != calls {
		t.Errorf("they ended as %v", ends)
	}
	t.Logf("%d calls of each mode, %d workers killed: %v", calls, kills, ends)
}

func total(t testing.TB, file string) int {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
	return bytes.Count(text, []byte("\n"))
}
