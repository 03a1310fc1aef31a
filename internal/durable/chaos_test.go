package durable_test

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/fleet"
	"github.com/toolhost/toolhost/internal/durable"
	"github.com/toolhost/toolhost/internal/embedded"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// callerProcess submits calls one after the other until it is killed, and goes on where an earlier one was. A call whose
// submission failed was not accepted.
func callerProcess(ctx context.Context, spec *processSpec, nc *nats.Conn, key fleet.Key, h *host.Host) error {
	f, err := os.OpenFile(spec.Ledger, os.O_APPEND|os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	var c *durable.Calls
	for c == nil {
		if c, err = durable.Open(ctx, durable.Config{Conn: nc, Host: h, Key: key, Name: "caller", Lapse: time.Second}); err != nil {
			time.Sleep(20 * time.Millisecond) // the server is about to come back
		}
	}
	fmt.Println("ready")
	text, err := os.ReadFile(spec.Ledger)
	if err != nil {
		return err
	}
	next := strings.Count(string(text), "try")
	for ; next < spec.Calls; next++ {
		if _, err := fmt.Fprintf(f, "try %d\n", next); err != nil {
			return err
		}
		name := []string{"once.add", "many.add"}[next%2]
		submit, cancel := context.WithTimeout(ctx, time.Second)
		id, err := c.Submit(submit, durable.Request{Tool: name, Arguments: args(fmt.Sprint(next))})
		cancel()
		if err == nil {
			_, err = fmt.Fprintf(f, "ok %d %s\n", next, id)
		} else {
			_, err = fmt.Fprintf(f, "refused %d %v\n", next, err)
		}
		if err != nil {
			return err
		}
	}
	_, err = fmt.Fprintln(f, "all")
	<-ctx.Done()
	return err
}

// Servers, workers and callers are killed at random: of the calls that were accepted none is lost, none ran twice that
// may run once, none not at all that has to, and none stays as it is. DURABLE_CALLS is how many calls there are.
func TestKillsAtRandom(t *testing.T) {
	t.Parallel()
	calls := 100
	if n, err := strconv.Atoi(os.Getenv("DURABLE_CALLS")); err == nil {
		calls = n
	}
	s, dir := newKeys(t, 3), t.TempDir()
	port := require.Must(net.Listen("tcp", "127.0.0.1:0"))(t)
	s.url = "nats://" + port.Addr().String()
	require.NoError(t, port.Close())
	ran, accepted := filepath.Join(dir, "ran"), filepath.Join(dir, "accepted")
	specs := []processSpec{
		{Server: &embedded.Config{Port: port.Addr().(*net.TCPAddr).Port, Keys: s.public, StoreDir: filepath.Join(dir, "store")}},
		{URL: s.url, Seed: s.seeds[0], Ledger: accepted, Calls: calls},
		{URL: s.url, Seed: s.seeds[1], Peer: s.public[0], Ledger: ran},
		{URL: s.url, Seed: s.seeds[2], Peer: s.public[0], Ledger: ran},
	}
	all := make([]*process, len(specs))
	for i, spec := range specs {
		all[i] = s.startAs(spec)
	}
	r := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 1)) //nolint:gosec // which is killed is not a secret
	submitted := func() int { return strings.Count(string(require.Must(os.ReadFile(accepted))(t)), "\nok ") }
	kills := max(8, calls/50)
	for i := range kills {
		limit := time.Now().Add(ceiling)
		for submitted() < i*calls/(kills+1)/2 && time.Now().Before(limit) { // some are refused
			time.Sleep(5 * time.Millisecond)
		}
		victim := i
		if i >= len(all) { // each once, and then any
			victim = r.IntN(len(all))
		}
		all[victim].kill()
		all[victim] = s.startAs(specs[victim])
	}
	require.Eventually(t, "all are submitted", func() bool {
		return strings.HasSuffix(string(require.Must(os.ReadFile(accepted))(t)), "\nall\n")
	})

	// The caller has ended, and another one of its key sees to its calls.
	all[1].kill()
	observer := s.join(0, nil, trusting(s.peers(1, 2)), func(c *durable.Config) { c.Lapse = time.Second })
	times, unknowns, oks := lines(t, ran), 0, 0
	file := require.Must(os.Open(accepted))(t)
	defer file.Close() //nolint:errcheck // it was read
	for in := bufio.NewScanner(file); in.Scan(); {
		words := strings.Fields(in.Text())
		if words[0] != "ok" {
			continue
		}
		c := observer.wait(t, words[2])
		times = lines(t, ran)
		n := times[words[1]]
		switch oks++; {
		case c.Mode == durable.AtMostOnce && n > 1, c.State == durable.StateDone && n == 0:
			t.Errorf("call %s ran %d times: %+v", words[1], n, c)
		case c.State == durable.StateDone:
		case c.Mode == durable.AtMostOnce && unknown(c):
			unknowns++
		case c.Mode == durable.AtLeastOnce && n > 0 && c.Error.Code == tool.CodeCrashed && c.Attempts == 5:
		default:
			t.Errorf("call %s, which ran %d times, is lost: %+v, %v", words[1], n, c, c.Error)
		}
	}
	for text, n := range times {
		if i, _ := strconv.Atoi(text); i%2 == 0 && n > 1 {
			t.Errorf("call %s ran %d times", text, n)
		}
	}
	t.Logf("%d calls with %d kills: %d were accepted, the outcome of %d is unknown", calls, kills, oks, unknowns)
	if oks < calls/2 {
		t.Errorf("only %d of %d calls were accepted", oks, calls)
	}
}
