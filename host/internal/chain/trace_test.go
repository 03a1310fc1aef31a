package chain_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/toolhost/toolhost/host/audit"
	"github.com/toolhost/toolhost/host/internal/chain"
	"github.com/toolhost/toolhost/internal/deadline"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

type key struct{}

// TestTraceIsTheContext checks that the trace is the context at each depth, and
// hides nothing of the caller's context.
func TestTraceIsTheContext(t *testing.T) {
	t.Parallel()
	caller, gone := context.WithCancelCause(context.WithValue(t.Context(), key{}, "value"))
	outer, inner := &chain.Trace{}, &chain.Trace{}
	ctx := chain.WithTrace(caller, outer)
	limited := deadline.New(ctx, time.Now().Add(time.Hour), nil)
	defer limited.Cancel(nil)
	for _, c := range []context.Context{ctx, limited, context.WithValue(limited, key{}, "value")} {
		if chain.TraceFrom(c) != outer || c.Value(key{}) != "value" {
			t.Errorf("%T: trace %p, want %p; value %v", c, chain.TraceFrom(c), outer, c.Value(key{}))
		}
	}
	if nested := chain.WithTrace(limited, inner); chain.TraceFrom(nested) != inner {
		t.Error("a host in a host sees the outer trace")
	}
	if chain.TraceFrom(t.Context()) != nil {
		t.Error("there is a trace outside of a call")
	}
	reason := errors.New("the caller is gone")
	gone(reason)
	<-ctx.Done()
	if !errors.Is(ctx.Err(), context.Canceled) || !errors.Is(context.Cause(ctx), reason) ||
		!errors.Is(deadline.Cause(limited), reason) {
		t.Errorf("%v, because %v", ctx.Err(), context.Cause(ctx))
	}
}

// TestStepsWithoutTrace checks that the steps work outside of a call, without a
// caller.
func TestStepsWithoutTrace(t *testing.T) {
	t.Parallel()
	run := chain.Wrap(func(ctx context.Context, _ tool.Call) (tool.Result, error) {
		if _, ok := ctx.(*deadline.Context); !ok {
			t.Errorf("the provider's context is a %T", ctx)
		}
		return tool.Text("done"), nil
	}, chain.Authorize(""), chain.Quotas(),
		chain.RateLimit(chain.NewRates(""), "x", &tool.RateLimit{Calls: 1, Period: tool.Duration(time.Hour)}),
		chain.Output(nil, 0), chain.Timeout(time.Minute), chain.Concurrency(chain.NewSlots(1, 0)))
	if res, err := run(t.Context(), tool.Call{Name: "x"}); err != nil || res.Text() != "done" {
		t.Errorf("%v, %v", res, err)
	}
	if _, err := run(t.Context(), tool.Call{Name: "x"}); tool.CodeOf(err) != tool.CodeRateLimited {
		t.Errorf("the second call: %v", err)
	}
}

// sink stores records. It may be selective.
type sink struct{ got []audit.Record }

func (s *sink) Write(r audit.Record) error {
	s.got = append(s.got, r)
	return nil
}

type selective struct{ sink }

func (*selective) WantsArguments() bool { return false }

// TestSelectiveSink checks that records are redacted for every sink that does
// not decline arguments, and never have them in clear text.
func TestSelectiveSink(t *testing.T) {
	t.Parallel()
	def := &tool.Definition{Name: "x", Safety: tool.Cautious, Sensitive: []string{"token"}}
	call := tool.Call{ID: "1", Name: "x", Arguments: json.RawMessage(`{"token":"secret","path":"a"}`)}
	plain, picky := &sink{}, &selective{}
	for _, s := range []audit.Sink{plain, picky} {
		a := &chain.Audit{Sink: s, OnError: func(err error) { t.Error(err) }}
		run := chain.Wrap(func(context.Context, tool.Call) (tool.Result, error) {
			return tool.Text("done"), nil
		}, a.End(), a.Begin(def))
		require.Must(run(chain.WithTrace(t.Context(), &chain.Trace{Definition: def, Digest: "sha256:0"}), call))(t)
	}
	if len(plain.got) != 2 || len(picky.got) != 2 {
		t.Fatalf("%d and %d records", len(plain.got), len(picky.got))
	}
	for i, r := range plain.got {
		if string(r.Input) != `{"token":"[redacted]","path":"a"}` || !strings.HasPrefix(r.Arguments, "sha256:") {
			t.Errorf("%+v", r)
		}
		p := picky.got[i]
		if p.Input != nil || p.Arguments != "" {
			t.Errorf("a sink that wants no arguments was given %+v", p)
		}
		r.Input, r.Arguments, r.Time, r.Duration = nil, "", p.Time, p.Duration
		if p.Time.IsZero() || p.Event != r.Event || p.Tool != r.Tool || p.Definition != r.Definition || p.Call != r.Call {
			t.Errorf("%+v, want %+v", p, r)
		}
	}
}
