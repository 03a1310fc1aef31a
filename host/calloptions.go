package host

import (
	"context"
	"fmt"
	"time"

	"github.com/toolhost/toolhost/host/internal/chain"
	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// CallOptions are what one call has that differs from its session. The zero value changes
// nothing.
type CallOptions struct {
	// Approver decides on the call in place of the session's approver. Nil: the session's.
	Approver policy.Approver
	// Asker answers the questions of the tool in place of the session's asker. Nil: that of
	// the context, see [tool.WithAsker], or the session's.
	Asker tool.Asker
	// Progress receives what the tool reports, see [tool.WithProgress]. Nil: the function
	// that the context has, if any.
	Progress func(tool.Progress)
	// Deltas receives the text that the tool streams, as it comes, see [tool.WithDeltas]. Nil: the
	// function that the context has, if any.
	Deltas func(tool.Delta)
	// Timeout bounds the whole call, with approval and all attempts. 0 or less: it is
	// bounded by the context and the tool's own limits only.
	Timeout time.Duration
	// IdempotencyKey names the call: a second call of the session with the same key, tool and
	// arguments runs nothing, and ends as the first one did, for which it waits. Use a key of
	// its own for each call that is meant. A call that never reached its tool is forgotten, so
	// that the next one with its key runs. The session remembers the last 256 keys, and at
	// most 16 MiB of results. Its tool has the key, see [tool.Call.IdempotencyKey], which bounds
	// it. Empty: the call has that of the [tool.Call], if any, which is passed on and not
	// remembered.
	IdempotencyKey string
}

// begin returns the context and the trace of a call with the options. The caller calls end
// when the call has ended.
func (o CallOptions) begin(ctx context.Context, s *Session, call tool.Call) (_ context.Context, t *chain.Trace, end func()) {
	if o.Approver != nil {
		s = s.With(WithApprover(o.Approver))
	}
	t, end = s.traceOf(ctx, call), func() {}
	if o.IdempotencyKey != "" {
		c := *s.as
		c.Visit = &visit{session: s, of: s, key: o.IdempotencyKey}
		t.Caller = &c
	}
	if o.Asker != nil {
		ctx = tool.WithAsker(ctx, o.Asker)
	}
	if o.Progress != nil {
		ctx = tool.WithProgress(ctx, o.Progress)
	}
	if o.Deltas != nil {
		ctx = tool.WithDeltas(ctx, o.Deltas)
	}
	if o.Timeout > 0 {
		ctx, end = context.WithTimeoutCause(ctx, o.Timeout, callLimit(o.Timeout))
	}
	return ctx, t, end
}

// callLimit is the cause of a context that ended by [CallOptions.Timeout].
type callLimit time.Duration

func (l callLimit) Error() string {
	return fmt.Sprintf("the call took longer than its limit of %v", time.Duration(l))
}

// Is reports that callLimit is a [context.DeadlineExceeded].
func (l callLimit) Is(target error) bool { return target == context.DeadlineExceeded }
