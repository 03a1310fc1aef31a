package chain

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/internal/callctx"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// phases is where the time of a call goes. It is a part of the call's [Trace], so that it costs no allocation;
// clocks are read where the call waits, and three times on the way of one that does not.
type phases struct {
	policy.Phases

	now      atomic.Uint32  // what the call is at: an index of phaseNames
	attempt  time.Time      // when the time of the attempt began; zero: it has no limit
	asks     time.Duration  // since the call's begin, when the provider was asked
	started  tool.Duration  // Started, at that time
	sent     callctx.Moment // since the call's begin
	answered time.Duration  // since the call's begin, when the provider had answered; 0: it has not
	final    policy.Phases  // rounded, when the call has ended; parts of the call may go on
	finished bool           // nothing is added any more
}

// What a call is at.
const (
	atRan uint32 = iota
	atAsked
	atStarted
	atQueued
	atEnd
)

var phaseNames = [...]string{"ran", "asked", "started", "queued", ""}

// Phase returns what the call is at now, in the words of [policy.Phases]; empty: it has ended. Any goroutine
// may ask.
func (t *Trace) Phase() string { return phaseNames[t.phases.now.Load()] }

// isAt notes what the call is at.
func (t *Trace) isAt(at uint32) {
	for ; t != nil; t = t.of {
		t.phases.now.Store(at)
	}
}

// waits notes that the call waits, and returns what adds the time until then.
func (t *Trace) waits(at uint32, sum *tool.Duration) (ended func()) {
	began := time.Now()
	t.isAt(at)
	return func() {
		t.isAt(atRan)
		*sum += tool.Duration(time.Since(began))
	}
}

// starts notes that the call waits for its plugin to start.
func (t *Trace) starts() func(time.Duration) {
	before := t.phases.Started
	ended := t.waits(atStarted, &t.phases.Started)
	return func(handshake time.Duration) {
		ended()
		t.phases.Handshake += min(tool.Duration(handshake), t.phases.Started-before) // others may have begun the start
	}
}

// again begins the phases of another attempt.
func (t *Trace) again(first time.Time) {
	t.phases.Phases = policy.Phases{Asked: t.phases.Asked, Retried: tool.Duration(time.Since(first))}
	t.phases.attempt, t.phases.answered = time.Time{}, 0
}

// Asks notes that the provider is asked now.
func (t *Trace) Asks() {
	p := &t.phases
	from := p.attempt // a moment ago, unless the call has waited since
	if from.IsZero() || p.Queued > 0 {
		from = t.now()
	}
	p.asks, p.started = from.Sub(t.Begin), p.Started
}

// Answered notes that the provider, which was given ctx, has answered. That the call waited for answers to
// its questions meanwhile does not count as its time.
func (t *Trace) Answered(ctx context.Context) {
	p := &t.phases
	asked := askingFrom(ctx).waited()
	p.answered = time.Since(t.Begin)
	whole := tool.Duration(p.answered-p.asks-asked) - (p.Started - p.started)
	p.Sent = min(max(tool.Duration(p.sent.After()-p.asks), 0), whole)
	p.Ran = whole - p.Sent
	p.Asked += tool.Duration(asked)
}

// Finish ends the phases of a call that took so long. The first time counts.
func (t *Trace) Finish(took time.Duration, call tool.Call, res tool.Result) {
	p := &t.phases
	if p.finished {
		return
	}
	f := &p.final
	*f, p.finished = p.Phases, true
	if p.answered > 0 {
		f.Checked = tool.Duration(took - p.answered)
	}
	for _, d := range [...]*tool.Duration{&f.Asked, &f.Retried, &f.Started, &f.Handshake, &f.Queued, &f.Sent, &f.Ran, &f.Checked} {
		*d = tool.Duration(time.Duration(*d).Round(time.Microsecond))
	}
	f.BytesIn, f.BytesOut = len(call.Arguments), ResultSize(res)
	f.EstimatedTokens = (f.BytesIn + f.BytesOut) / bytesPerToken
}

// bytesPerToken is what one token of a model is taken for.
const bytesPerToken = 4

// Phases returns the phases of a call that has finished, which the caller must not modify.
func (t *Trace) Phases() *policy.Phases { return &t.phases.final }
