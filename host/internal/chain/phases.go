package chain

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/internal/wire"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// phases is where the time of a call goes. It is a part of the call's [Trace], so that it costs no allocation;
// clocks are read where the call waits, and three times on the way of one that does not.
type phases struct {
	policy.Phases

	now      atomic.Uint32 // what the call is at: an index of phaseNames
	finished bool          // nothing is added any more
	started  tool.Duration // Started, when the provider was asked
	queued   tool.Duration // and Queued

	// Since the call's begin; 0: not yet.
	attempt  time.Duration // when the time of the attempt began
	asks     time.Duration // when the provider was asked
	sent     atomic.Int64  // when the arguments had been written
	answered time.Duration // when the provider had answered
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
	t.phases.attempt, t.phases.answered = 0, 0
}

// Asks notes that the provider is asked now.
func (t *Trace) Asks() {
	p := &t.phases
	p.asks, p.started, p.queued = p.attempt, p.Started, p.Queued // a moment ago, unless the call has waited since
	if p.asks == 0 || p.Queued > 0 {
		p.asks = time.Since(t.Begin)
	}
}

// NoteSent implements [callctx.Sender].
func (t *Trace) NoteSent() { t.phases.sent.Store(int64(time.Since(t.Begin))) }

// Answered notes that the provider, which was given ctx, has answered. That the call waited for answers to
// its questions meanwhile does not count as its time.
func (t *Trace) Answered(ctx context.Context) {
	p := &t.phases
	asked := askingFrom(ctx).waited()
	p.answered = time.Since(t.Begin)
	whole := tool.Duration(p.answered-p.asks-asked) - (p.Started - p.started) - (p.Queued - p.queued)
	p.Sent = min(max(tool.Duration(p.sent.Load())-tool.Duration(p.asks), 0), whole)
	p.Ran = whole - p.Sent
	p.Asked += tool.Duration(asked)
}

// Queues notes that a call waits in its provider for its turn, behind so many, and returns what ends that.
func (t *Trace) Queues(ahead, own int) (ended func()) {
	if t.phases.Queued == 0 {
		t.phases.Ahead, t.phases.Own = ahead, own
	}
	return t.waits(atQueued, &t.phases.Queued)
}

// Elsewhere notes that another host ran the call, and what that says of its phases there; nil: nothing.
func (t *Trace) Elsewhere(host string, said *policy.Phases) {
	t.phases.On, t.phases.There = host, said
}

// Finish ends the phases of a call that took so long. The first time counts.
func (t *Trace) Finish(took time.Duration, call tool.Call, res tool.Result) {
	p := &t.phases
	if p.finished {
		return
	}
	p.finished = true
	if b := t.branches; b != nil { // parts of the call may go on, and begin
		b.mu.Lock()
		defer b.mu.Unlock()
	}
	if p.answered > 0 {
		p.Checked = tool.Duration(took - p.answered)
	}
	for _, d := range [...]*tool.Duration{&p.Asked, &p.Retried, &p.Started, &p.Handshake, &p.Queued, &p.Sent, &p.Ran, &p.Checked} {
		if *d != 0 { // nearly all are zero, and each is a division
			*d = tool.Duration(time.Duration(*d).Round(time.Microsecond))
		}
	}
	p.BytesIn, p.BytesOut = len(call.Arguments), wire.ResultSize(res)
	p.EstimatedTokens = (p.BytesIn + p.BytesOut) / bytesPerToken
}

// bytesPerToken is what one token of a model is taken for.
const bytesPerToken = 4

// Phases returns the phases of a call that has finished, which the caller must not modify.
func (t *Trace) Phases() *policy.Phases { return &t.phases.Phases }
