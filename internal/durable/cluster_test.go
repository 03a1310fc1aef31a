package durable_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/toolhost/toolhost/internal/durable"
	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/natstest"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// A cluster of three servers loses the leader of the queue in the midst of calls, then that of the results,
// and gets both back: no call that was accepted is lost, and none runs twice that must not.
func TestClusterLosesLeaders(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 9 s of CPU time: .ci/long runs it")
	}
	t.Parallel()
	const calls = 200
	s, l := newKeys(t, 3), new(ledger)
	cluster := natstest.NewCluster(t, s.public...)
	s.url = cluster.URL(0)
	replicated := func(c *durable.Config) { c.Replicas = 3 }
	tools := []tool.Tool{noted("once.add", l, false, nil), noted("many.add", l, true, nil)}
	caller := s.join(0, nil, remote(tools...), trusting(s.peers(1, 2)), replicated)
	for _, n := range []int{1, 2} {
		s.join(n, tools, trusting(s.peers(0)), replicated)
	}
	var all sync.WaitGroup
	var mu sync.Mutex
	ends, refused := map[string]int{}, 0
	restarted := make(chan struct{}, 2)
	for i := range calls {
		switch i {
		case calls / 2:
			<-restarted // two of three have to be there
			cluster.Ready()
			fallthrough
		case calls / 4:
			lost := cluster.StreamLeader(map[int]string{calls / 4: durable.QueueName, calls / 2: "KV_" + durable.StateName}[i])
			cluster.Stop(lost)
			all.Go(func() {
				before := l.all.Load()
				require.Eventually(t, "calls run without it", func() bool { return l.all.Load() >= before+int64(calls/20) })
				cluster.Start(lost)
				restarted <- struct{}{}
			})
		}
		name := []string{"once.add", "many.add"}[i%2]
		id := ""
		require.Eventually(t, "a call is accepted", func() bool {
			var err error
			id, err = caller.Submit(t.Context(), durable.Request{
				Tool: name, Arguments: args(fmt.Sprint(name, "/", i)), IdempotencyKey: fmt.Sprint("key-", i),
			})
			if err != nil {
				refused++
				assert.Equalf(t, tool.CodeOf(err), tool.CodeUnavailable, "%d: %v", i, err)
			}
			return err == nil
		})
		all.Go(func() {
			var c durable.Call
			require.Eventually(t, "its end", func() bool {
				var err error
				c, err = caller.Wait(t.Context(), id)
				if err != nil && tool.CodeOf(err) != tool.CodeUnavailable {
					t.Errorf("%d: %v", i, err)
				}
				return err == nil
			})
			end := string(c.State)
			if unknown(c) {
				end = "unknown"
			} else if c.Error != nil {
				end = c.Error.Error()
			}
			mu.Lock()
			defer mu.Unlock()
			ends[name+" "+end]++
		})
	}
	all.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	for text, n := range l.runs {
		if strings.HasPrefix(text, "once.add/") && n != 1 {
			t.Errorf("%s ran %d times", text, n)
		}
	}
	if ends["once.add done"]+ends["once.add unknown"] != calls/2 || ends["many.add done"] != calls/2 {
		t.Errorf("they ended as %v", ends)
	}
	t.Logf("%d calls, %d submissions refused for the moment: %v", calls, refused, ends)
}
