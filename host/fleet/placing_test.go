package fleet_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/fleet"
	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/plugintest"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// replica is a host whose tool counts its calls.
type replica struct {
	calls  atomic.Int64
	run    func(context.Context) error
	change []func(*fleet.Config)
}

// takes returns a replica whose calls take so long.
func takes(d time.Duration, change ...func(*fleet.Config)) *replica {
	return &replica{change: change, run: func(ctx context.Context) error {
		select {
		case <-time.After(d):
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}}
}

// fails returns a replica whose calls fail at once.
func fails(code tool.Code) *replica {
	return &replica{run: func(context.Context) error { return tool.Errorf(code, "it fails") }}
}

func slow(context.Context, tool.Call) (tool.Result, error) {
	time.Sleep(10 * time.Second)
	return tool.Text("done"), nil
}

// placed returns a host that mounts a tool of the replicas, and what of it was called.
func placed(t *testing.T, s *site, rule fleet.Rule, options []func(*tool.Definition), all ...*replica) *node {
	t.Helper()
	for i, r := range all {
		run := func(ctx context.Context, _ tool.Call) (tool.Result, error) {
			r.calls.Add(1)
			return tool.Text("done"), r.run(ctx)
		}
		name := fmt.Sprint("r", i)
		join(t, s.config(name, append([]func(*fleet.Config){share("*")}, r.change...)...), handler("t", run, options...), handler("other", slow))
	}
	rule.Tools = "*"
	n := joined(t, newHost(t), s.config("caller", mount("*"), func(c *fleet.Config) {
		c.Rules, c.Labels = []fleet.Rule{rule}, map[string]string{"region": "eu"}
	}))
	n.shared(t, "t", 1, len(all))
	return n
}

// many makes calls from so many callers at a time, and returns those that failed.
func (n *node) many(t *testing.T, callers, calls int) (failed int64) {
	t.Helper()
	failed, _ = n.timed(t, callers, calls)
	return failed
}

// timed does what many does, and returns the median of what the calls took.
func (n *node) timed(t *testing.T, callers, calls int) (failed int64, median time.Duration) {
	t.Helper()
	var next, bad atomic.Int64
	var all sync.WaitGroup
	took := make([]time.Duration, calls)
	for range callers {
		all.Go(func() {
			for i := next.Add(1); i <= int64(calls); i = next.Add(1) {
				begin := time.Now()
				if res, err := n.Execute(t.Context(), tool.Call{Name: "t"}); err != nil || res.IsError {
					bad.Add(1)
				}
				took[i-1] = time.Since(begin)
			}
		})
	}
	all.Wait()
	slices.Sort(took)
	return bad.Load(), took[calls/2]
}

// waiting returns the tool that has calls which wait; zero: none has.
func (n *node) waiting() (out fleet.ToolStatus) {
	for _, t := range n.Fleet.Tools() {
		if t.Waiting > 0 {
			out = t
		}
	}
	return out
}

func limit(d time.Duration) []func(*tool.Definition) {
	return []func(*tool.Definition){func(def *tool.Definition) { def.Timeout = tool.Duration(d) }}
}

// Calls go where they are served.
func TestPlacing(t *testing.T) { //nolint:paralleltest // bubbles are alone
	const fast = 20 * time.Millisecond
	share := func(r *replica, of int) float64 { return float64(r.calls.Load()) / float64(of) }
	t.Run("equal", func(t *testing.T) { //nolint:paralleltest // as above
		bubble(t, func(t *testing.T, s *site) {
			a, b := takes(fast), takes(fast)
			n := placed(t, s, fleet.Rule{}, nil, a, b)
			if failed := n.many(t, 16, 500); failed > 0 || share(a, 500) < 0.45 || share(a, 500) > 0.55 {
				t.Errorf("%d calls to one, %d failed", a.calls.Load(), failed)
			}
			sum := 0.0
			for _, r := range n.Replicas() {
				if sum += r.Share; r.Tool != "t" || r.Expected < fast || r.Calls < 225 || r.Running+r.Failures+int(r.Failed) > 0 {
					t.Errorf("%+v", r)
				}
			}
			if sum < 0.999 || sum > 1.001 {
				t.Errorf("all shares are %v", sum)
			}
		})
	})
	for name, c := range map[string]struct { //nolint:paralleltest // as above
		bad  *replica
		most float64
	}{
		"hangs":   {takes(time.Hour), 0.03},
		"fails":   {fails(tool.CodeToolFailed), 0.03},
		"crashes": {fails(tool.CodeCrashed), 0.03},
		"slow":    {takes(fast + 200*time.Millisecond), 0.1},
		"boasts":  {takes(fast+200*time.Millisecond, most(1<<16)), 0.1}, // of its places
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, s *site) {
				n := placed(t, s, fleet.Rule{}, limit(time.Second), c.bad, takes(fast), takes(fast))
				n.many(t, 16, 50)
				c.bad.calls.Store(0)
				if _, median := n.timed(t, 16, 1500); share(c.bad, 1500) > c.most || median > fast*13/10 {
					t.Errorf("%d of 1500 calls, half of all took %v", c.bad.calls.Load(), median)
				}
			})
		})
	}
	t.Run("another tool was slow", func(t *testing.T) { //nolint:paralleltest // as above
		bubble(t, func(t *testing.T, s *site) {
			a, b := takes(fast), takes(fast)
			n := placed(t, s, fleet.Rule{}, nil, a, b)
			require.Must(n.Execute(fleet.On(t.Context(), "r1"), tool.Call{Name: "other"}))(t)
			if n.many(t, 16, 500); share(b, 500) < 0.45 || share(b, 500) > 0.55 {
				t.Errorf("%d calls to the host whose other tool was slow", b.calls.Load())
			}
		})
	})
	t.Run("near", func(t *testing.T) { //nolint:paralleltest // as above
		bubble(t, func(t *testing.T, s *site) {
			region := func(name string) func(*fleet.Config) {
				return func(c *fleet.Config) { c.Labels = map[string]string{"region": name} }
			}
			near, far := takes(fast, region("eu"), most(4)), takes(fast, region("us"))
			n := placed(t, s, fleet.Rule{Near: "region"}, nil, near, far)
			if n.many(t, 3, 100); far.calls.Load() > 0 {
				t.Errorf("%d calls go far", far.calls.Load())
			}
			// One that was full is tried again when it has announced itself, each second.
			if failed := n.many(t, 16, 1600); failed > 0 || far.calls.Load() < 800 || near.calls.Load() < 100+120 {
				t.Errorf("%d near, %d far, %d failed", near.calls.Load(), far.calls.Load(), failed)
			}
		})
	})
}

func most(n int) func(*fleet.Config) { return func(c *fleet.Config) { c.MaxCalls = n } }

// A call that finds all hosts full waits its turn, in which the places are used; or until its time is over.
func TestWaiting(t *testing.T) { //nolint:paralleltest // bubbles are alone
	bubble(t, func(t *testing.T, s *site) {
		const took = 50 * time.Millisecond
		all := []*replica{takes(took, most(8)), takes(took, most(8)), takes(took, most(8))}
		n := placed(t, s, fleet.Rule{}, nil, all...)
		began := time.Now()
		if failed := n.many(t, 64, 960); failed > 0 {
			t.Errorf("%d calls were refused", failed)
		}
		if d := time.Since(began); d > 3*960/24*took {
			t.Errorf("they took %v", d)
		}
		for i, r := range all {
			if r.calls.Load() < 240 {
				t.Errorf("host %d had %d", i, r.calls.Load())
			}
		}
	})
	bubble(t, func(t *testing.T, s *site) {
		n := placed(t, s, fleet.Rule{}, nil, takes(time.Second, most(1)))
		go n.many(t, 1, 1)
		time.Sleep(time.Millisecond)
		out := n.Call(t.Context(), tool.Call{Name: "t"})
		if p := out.Metadata.Phases; !out.Success || time.Duration(p.Queued) < 900*time.Millisecond || p.Ahead != 1 || time.Duration(p.Ran) > 1100*time.Millisecond {
			t.Errorf("%+v", out)
		}
		go n.many(t, 1, 1)
		time.Sleep(time.Millisecond)
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		meanwhile := make(chan fleet.ToolStatus, 1)
		time.AfterFunc(50*time.Millisecond, func() { meanwhile <- n.waiting() })
		_, err := n.Execute(ctx, tool.Call{Name: "t"})
		if e := tool.AsError(err); e == nil || e.Code != tool.CodeDeadlineExceeded {
			t.Errorf("%v", err)
		}
		if seen := <-meanwhile; seen.Waiting != 1 || seen.Oldest < 40*time.Millisecond || seen.Oldest > 60*time.Millisecond {
			t.Errorf("while a call waited, the tool was %+v", seen)
		}
		for _, r := range n.Replicas() {
			assert.Equalf(t, r.Running, 1, "%+v", r)
		}
		time.Sleep(5 * time.Second)
		if failed := n.many(t, 2, 4); failed > 0 {
			t.Error("the host is not used again")
		}
		crowd, end := context.WithCancel(t.Context())
		var full atomic.Int32
		var all sync.WaitGroup
		for range 1 + 1024 + 3 {
			all.Go(func() {
				_, err := n.Execute(crowd, tool.Call{Name: "t"})
				if e := tool.AsError(err); e != nil && strings.Contains(e.Message, "as many of its calls wait here as may") {
					full.Add(1)
				}
			})
		}
		time.Sleep(100 * time.Millisecond)
		if seen := n.waiting(); seen.Waiting != 1024 || full.Load() != 3 {
			t.Errorf("%d calls wait, and %d were refused", seen.Waiting, full.Load())
		}
		end()
		all.Wait()
	})
}

// A refusal before the start goes on, once to each host, and is remembered until its host says that something has changed.
func TestRefusals(t *testing.T) { //nolint:paralleltest // bubbles are alone
	bubble(t, func(t *testing.T, s *site) {
		var refused atomic.Int64
		refuses := func(c *fleet.Config) {
			c.Accept = func(fleet.Caller) ([]host.SessionOption, error) {
				refused.Add(1)
				return nil, &tool.Error{Code: tool.CodePermissionDenied, Message: "no", Err: errors.New("no")}
			}
		}
		a, b, c := takes(0, refuses), takes(0, refuses), takes(0)
		n := placed(t, s, fleet.Rule{}, nil, a, b, c)
		if failed := n.many(t, 1, 100); failed > 0 || c.calls.Load() != 100 || refused.Load() > 2 {
			t.Errorf("%d failed, %d ran, %d were refused", failed, c.calls.Load(), refused.Load())
		}
	})
	bubble(t, func(t *testing.T, s *site) { // by all
		var refused atomic.Int64
		all := make([]*replica, 4)
		for i := range all {
			all[i] = takes(0, func(c *fleet.Config) {
				c.Accept = func(fleet.Caller) ([]host.SessionOption, error) {
					refused.Add(1)
					return nil, &tool.Error{Code: tool.CodePermissionDenied, Message: "no"}
				}
			})
		}
		n := placed(t, s, fleet.Rule{}, nil, all...)
		for i, most := range []int64{4, 5} {
			_, err := n.Execute(t.Context(), tool.Call{Name: "t"})
			if tool.CodeOf(err) != tool.CodePermissionDenied || refused.Load() != most {
				t.Errorf("call %d: %v after %d refusals", i, err, refused.Load())
			}
		}
	})
}

// A call of an idempotent tool whose plugin dies there is repeated on another host, once; any other is not.
func TestCrashThereIsRepeated(t *testing.T) { //nolint:paralleltest // bubbles are alone
	for _, again := range []bool{true, false} {
		bubble(t, func(t *testing.T, s *site) {
			a, b := fails(tool.CodeCrashed), takes(0)
			n := placed(t, s, fleet.Rule{}, []func(*tool.Definition){func(d *tool.Definition) { d.Idempotent = again }}, a, b)
			failed := n.many(t, 1, 20)
			ran, crashed := b.calls.Load(), a.calls.Load()
			if crashed == 0 || again && (failed > 0 || ran != 20) || !again && (failed != crashed || ran+crashed != 20) {
				t.Errorf("idempotent: %v, %d failed, %d ran, %d crashed", again, failed, ran, crashed)
			}
		})
	}
}

// The process of a plugin ends during a call, on hosts of one workspace, whose ledger the next run finds.
func TestDeadPluginThere(t *testing.T) {
	t.Parallel()
	for name, runs := range map[string]int{"crash.flaky": 3, "crash.once": 2} { // an idempotent tool, and one that is not
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, root := newSite(t), t.TempDir()
			ledger := filepath.Join(root, "ledger")
			require.NoError(t, os.WriteFile(ledger, []byte(name+"\n"), 0o600)) // it has run once: so does the second run end it
			once := host.WithDefaults(func(all *plugin.Settings) { all.Limits.MaxRetries = 0 })
			for _, at := range []string{"b", "c"} {
				dir := plugintest.Dir(t, plugintest.Crasher)
				h := newHost(t, host.WithRoot(root), once)
				require.Must(h.Load(t.Context(), dir))(t)
				joined(t, h, s.config(at, share("crash.*")))
			}
			a := joined(t, newHost(t, once), s.config("a", mount("*")))
			a.shared(t, name, 1, 2)
			res, err := a.Execute(t.Context(), tool.Call{Name: name})
			if again := runs == 3; again && (err != nil || res.Text() != "worked") || !again && tool.CodeOf(err) != tool.CodeCrashed {
				t.Errorf("%q %v", res.Text(), err)
			}
			if text := require.Must(os.ReadFile(ledger))(t); strings.Count(string(text), name) != runs {
				t.Errorf("the ledger has\n%s", text)
			}
		})
	}
}
