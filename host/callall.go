package host

import (
	"context"
	"sync"

	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/internal/callctx"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// maxSideBySide is how many calls of one CallAll run at a time for each provider, if it may
// run as many: enough to keep a plugin busy, and few next to the default limits, so that a
// long list leaves room for other callers.
const maxSideBySide = 64

// CallAll runs several calls and returns their outcomes in the same order, one for each,
// whatever happens to the others. Consecutive calls of safe tools overlap, at most 64 for each
// plugin and no more than it may run at a time; any other call, and any call that needs an
// approval, waits for those before it, and those after it wait for it.
func (s *Session) CallAll(ctx context.Context, calls []tool.Call) []Outcome {
	out := make([]Outcome, len(calls))
	if callctx.Get[func(tool.Delta)](ctx, callctx.Deltas{}) != nil { // which do not say of which call they are
		ctx = tool.WithDeltas(ctx, nil)
	}
	if s.approver != nil {
		s = s.With(WithApprover(oneByOne(s.approver)))
	}
	var running sync.WaitGroup
	slots := map[string]chan struct{}{} // by owner
	for i, call := range calls {
		call = s.meant(call)
		e := s.host.registry.lookup(call.Name)
		if e == nil || !e.mayOverlap() {
			running.Wait()
			out[i] = s.Call(ctx, call)
			continue
		}
		slot := slots[e.owner]
		if slot == nil {
			slot = make(chan struct{}, e.sideBySide())
			slots[e.owner] = slot
		}
		slot <- struct{}{} // each call of the owner gives one back when it ends
		running.Go(func() {
			defer func() { <-slot }()
			out[i] = s.Call(ctx, call)
		})
	}
	running.Wait()
	return out
}

// oneByOne asks an approver one question at a time. A tool that is safe here may need an
// approval in a host that is attached.
func oneByOne(a policy.Approver) policy.Approver {
	turn := make(chan struct{}, 1)
	return policy.ApproverFunc(func(ctx context.Context, r policy.Request) (policy.Decision, error) {
		select {
		case turn <- struct{}{}:
			defer func() { <-turn }()
			return a.Approve(ctx, r)
		case <-ctx.Done():
			return policy.Decision{}, ctx.Err()
		}
	})
}

// mayOverlap reports whether calls of the tool can run in any order, and ask no approver.
func (e *entry) mayOverlap() bool {
	return e.def.Safety.Effective() == tool.Safe && e.override.Approval != policy.Ask
}

// sideBySide returns how many calls of its owner one CallAll runs at a time.
func (e *entry) sideBySide() int {
	if most := e.settings.Limits.Running; most > 0 {
		return min(most, maxSideBySide)
	}
	return maxSideBySide
}
