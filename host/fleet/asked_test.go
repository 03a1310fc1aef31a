package fleet_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/fleet"
	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/internal/callctx"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// after returns an approver that says yes after a time; 0: only when no one waits for it.
func after(d time.Duration) host.SessionOption {
	return host.WithApprover(policy.ApproverFunc(func(ctx context.Context, _ policy.Request) (policy.Decision, error) {
		var yes <-chan time.Time
		if d > 0 {
			yes = time.After(d)
		}
		select {
		case <-yes:
			return policy.Decision{Verdict: policy.Allow}, nil
		case <-ctx.Done():
			return policy.Decision{}, ctx.Err()
		}
	}))
}

// A person on the other host takes longer than the tool may: the call waits, and its caller is told. What the caller
// bounds himself is over when he says, and a host for which no one ever answers holds a call for an hour.
func TestPersonOnOtherHostIsAsked(t *testing.T) { //nolint:paralleltest // bubbles are alone
	for name, c := range map[string]struct { //nolint:paralleltest // as above
		answer  time.Duration // 0: never
		runs    time.Duration // then
		own     time.Duration // the caller's bound
		asker   bool          // the caller can be asked
		want    tool.Code     // empty: it succeeds
		between [2]time.Duration
	}{
		"answered":                    {answer: 4 * time.Minute, between: [2]time.Duration{4 * time.Minute, 4*time.Minute + time.Second}},
		"answered, and then too slow": {answer: time.Minute, runs: time.Minute, want: tool.CodeDeadlineExceeded, between: [2]time.Duration{time.Minute, time.Minute + 3*time.Second}},
		"caller can be asked":         {answer: 4 * time.Minute, asker: true, between: [2]time.Duration{4 * time.Minute, 4*time.Minute + time.Second}},
		"caller does not wait":        {answer: time.Minute, own: 5 * time.Second, want: tool.CodeDeadlineExceeded, between: [2]time.Duration{5 * time.Second, 6 * time.Second}},
		"never":                       {want: tool.CodeDeadlineExceeded, between: [2]time.Duration{time.Hour, time.Hour + 5*time.Second}},
	} {
		t.Run(name, func(t *testing.T) {
			if name == "never" && testing.Short() {
				t.Skip("an hour of a fleet takes seconds; package wire has the bound")
			}
			bubble(t, func(t *testing.T, s *site) {
				join(t, s.config("b", share("*"), func(f *fleet.Config) {
					f.Accept = func(fleet.Caller) ([]host.SessionOption, error) { return []host.SessionOption{after(c.answer)}, nil }
				}), handler("risky", func(ctx context.Context, _ tool.Call) (tool.Result, error) {
					select {
					case <-time.After(c.runs):
						return tool.Text("done"), nil
					case <-ctx.Done():
						return tool.Result{}, ctx.Err()
					}
				}, func(d *tool.Definition) { d.Safety, d.Timeout = tool.Dangerous, tool.Duration(2*time.Second) }))
				a := join(t, s.config("a", mount("*")))
				require.Eventually(t, "the tool", func() bool { return a.has("risky") })
				var told, over atomic.Int32
				ctx := context.WithValue(t.Context(), callctx.Waits{}, func(string) func() {
					told.Add(1)
					return func() { over.Add(1) }
				})
				if c.asker {
					ctx = tool.WithAsker(ctx, func(context.Context, tool.Question) (tool.Answer, error) { return tool.Answer{}, nil })
				}
				if c.own > 0 {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, c.own)
					defer cancel()
				}
				session, begin := a.Session(after(time.Millisecond)), time.Now()
				res, err := session.Execute(ctx, tool.Call{Name: "risky"})
				if took := time.Since(begin); took < c.between[0] || took > c.between[1] {
					t.Errorf("it took %v", took)
				}
				if c.want == "" && (err != nil || res.Text() != "done") || tool.CodeOf(err) != c.want {
					t.Errorf("%q, %v", res.Text(), err)
				}
				time.Sleep(time.Second)
				if told.Load() != 2 || over.Load() != 2 { // here, and there
					t.Errorf("the caller was told %d times that it waits, and %d times that it goes on", told.Load(), over.Load())
				}
			})
		})
	}
}
