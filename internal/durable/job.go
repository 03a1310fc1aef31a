package durable

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/internal/callctx"
	"github.com/toolhost/toolhost/internal/durable/mode"
	"github.com/toolhost/toolhost/internal/fault"
	"github.com/toolhost/toolhost/internal/sanitize"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

var (
	errClosing  = errors.New("the host ends")
	errCanceled = tool.Errorf(tool.CodeCanceled, "the call was canceled, or is another worker's")
)

// job is one delivery of a call.
type job struct {
	*worker
	msg      jetstream.Msg
	sequence uint64 // of the message in the stream
	lapse    time.Duration
	changed  chan struct{} // receives when the record may have changed
	log      hclog.Logger
	ctx      context.Context
	cancel   context.CancelCauseFunc
	id       string

	*envelope
	record   *record // the claim
	revision uint64
	beaten   time.Time // the last sign of life
}

const (
	ioTime   = 5 * time.Second  // of one exchange with the server, which may be away
	giveUp   = 10 * time.Minute // of storing a result while the server is away
	backFrom = time.Second
	quiet    = 10 * time.Second // between two reports of refused messages
	// mostAway is how rarely a call that this host may not run comes back to it.
	mostAway = 10 * time.Second
)

func (j *job) io() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(j.ctx), min(ioTime, max(j.lapse/3, minLapse)))
}

// run decides what a delivery is, and runs the call if it may.
func (j *job) run() {
	defer j.cfg.Track()()
	if j.paused.Load() || j.ctx.Err() != nil { // since it was fetched; this host may have given it back just now
		_ = j.msg.NakWithDelay(backFrom)
		return
	}
	meta, err := j.msg.Metadata()
	if err == nil {
		j.sequence = meta.Sequence.Stream
		j.envelope, err = openEnvelope(j.msg.Subject(), j.msg.Data())
	}
	if err != nil {
		j.refuse(err)
		return
	}
	if entered, same := j.enter(j, j.ID); !entered {
		if same { // a sign of life came too late
			_ = j.msg.InProgress()
			return
		}
		j.refuse(errors.New("the call runs"))
		return
	}
	now, err := j.now()
	if err != nil {
		_ = j.msg.NakWithDelay(backFrom)
		return
	}
	late := now.Sub(meta.Timestamp) > j.ttl()
	peer, known := j.cfg.Peers()[j.Key]
	t, here := j.cfg.Host.Get(j.Tool)
	may := known && Matches(peer.Share, j.Tool)
	if j.At != "" {
		may = j.Key == j.cfg.Key.Public() && j.At == j.cfg.Name && j.cfg.Own(j.Tool)
	}
	if !may || !here || t.Owner == mounted || Digest(t.Definition) != j.Digest {
		if late {
			j.refuse(errors.New("no worker runs it for its host"))
			return
		}
		_ = j.msg.NakWithDelay(min(backFrom<<min(meta.NumDelivered-1, 6), mostAway)) // it may be for another
		return
	}
	first := status{
		Host: j.cfg.Name, State: StateRunning, Attempt: 1, Claim: rand.Text(), Lapse: j.lapse,
		Queued: meta.Timestamp, Started: j.cfg.Now().UTC(),
	}
	switch {
	case late:
		first.Attempt = 0
		first.fail(StateExpired, j.order, expired(j.order))
	case j.Mode == AtLeastOnce && !j.cfg.repeatable(&t):
		first.fail(StateFailed, j.order, tool.Errorf(tool.CodeInvalidArguments,
			"tool %s cannot run at least once here: it does not say that it is idempotent", j.Tool).
			NeverSent().Try("submit the call at most once"))
	}
	if !j.claim(&first, meta.NumDelivered) {
		return
	}
	if first.State.Ended() {
		j.ack()
		return
	}
	if j.Mode == AtMostOnce { // the claim is what counts from now on
		j.ack()
	}
	j.execute(Caller{peer.Name, sanitize.Line(j.Host, maxName), sanitize.Line(j.Caller, maxName)})
}

func (j *job) now() (time.Time, error) {
	ctx, cancel := j.io()
	defer cancel()
	return j.store.now(ctx)
}

// refuse throws a message away.
func (j *job) refuse(err error) {
	j.refused.Add(1)
	if last, now := j.warned.Load(), time.Now().UnixNano(); now-last > int64(quiet) && j.warned.CompareAndSwap(last, now) {
		j.log.Warn("a message in the queue of durable calls is refused", "reason", err, "refused", j.refused.Load())
	}
	_ = j.msg.TermWithReason("toolhost refuses it")
}

// ack takes the message out of the queue. If that fails it is delivered again, and its record says that
// there is nothing to do.
func (j *job) ack() {
	ctx, cancel := j.io()
	defer cancel()
	if err := j.msg.DoubleAck(ctx); err != nil {
		j.log.Debug("a durable call was not acknowledged", "error", err)
	}
}

// claim makes the call this worker's. False: it is not, and the message has been answered.
func (j *job) claim(s *status, delivered uint64) bool {
	ctx, cancel := j.io()
	defer cancel()
	unclaimed := &record{sealed: j.sealed, order: j.order}
	err := j.put(ctx, unclaimed, *s, j.envelope.revision)
	if err == nil {
		return true
	}
	if !errors.Is(err, errLost) {
		_ = j.msg.NakWithDelay(backFrom)
		return false
	}
	there, at, err := j.store.read(ctx, keyOf(j.Key, j.ID))
	var forged *forgedError
	switch {
	case errors.Is(err, jetstream.ErrKeyNotFound), errors.As(err, &forged):
	case err != nil:
		_ = j.msg.NakWithDelay(backFrom)
		return false
	case j.Mode == AtMostOnce, there.state().Ended(), there.s == nil:
	case there.state() == StateRunning && j.alive(ctx, there, at):
		_ = j.msg.NakWithDelay(j.lapse)
		return false
	default: // its worker is dead, or has given it back
		if before := there.s.Attempt; s.State == StateRunning && before >= j.cfg.Attempts {
			s.Attempt = before
			s.fail(StateFailed, j.order, poison(j.order, before))
		} else {
			s.Attempt += before
		}
		if !there.s.Queued.IsZero() {
			s.Queued = there.s.Queued
		}
		if err := j.put(ctx, there, *s, at.Revision()); err == nil {
			return true
		}
		_ = j.msg.NakWithDelay(backFrom)
		return false
	}
	if delivered > 1 { // its acknowledgement was lost
		j.ack()
		return false
	}
	j.refuse(errors.New("the call was in the queue before, or has ended"))
	return false
}

// alive reports whether a claim has shown a sign of life lately. If the server does not say, it has.
func (j *job) alive(ctx context.Context, r *record, at jetstream.KeyValueEntry) bool {
	now, err := j.store.now(ctx)
	return err != nil || now.Sub(at.Created()) < lapseOf(r.s)
}

// put replaces a revision of the record.
func (j *job) put(ctx context.Context, r *record, s status, revision uint64) error {
	next, err := r.with(j.cfg.Key, s, nil)
	if err != nil {
		return err
	}
	return j.swap(ctx, next, revision)
}

func (j *job) swap(ctx context.Context, next *record, revision uint64) error {
	at, err := j.store.swap(ctx, next, revision)
	if err == nil {
		j.record, j.revision, j.beaten = next, at, time.Now()
	}
	return err
}

// replace is swap of what this worker has claimed: what a stranger has put in its place is
// overwritten.
func (j *job) replace(next *record) error {
	ctx, cancel := j.io()
	defer cancel()
	err := j.swap(ctx, next, j.revision)
	if !errors.Is(err, errLost) {
		return err
	}
	there, at, err := j.store.read(ctx, keyOf(j.Key, j.ID))
	var forged *forgedError
	switch {
	case errors.As(err, &forged):
	case errors.Is(err, jetstream.ErrKeyNotFound):
		return errLost
	case err != nil:
		return err
	case there.s != nil && there.s.Claim != j.record.s.Claim && j.entitled(there):
		return errLost
	}
	return j.swap(ctx, next, at.Revision())
}

// entitled reports whether the writer of a record may take the call away: its host, or a worker.
func (j *job) entitled(r *record) bool {
	_, known := j.cfg.Peers()[r.s.By]
	return known || r.s.By == r.Key || r.s.By == j.cfg.Key.Public()
}

type outcome struct {
	phases *policy.Phases
	text   []byte // the JSON of the result
	sum    string // of that
	err    error
}

// execute runs the call that is claimed, and stores how it ended.
func (j *job) execute(from Caller) {
	var o outcome
	j.alongside(func() {
		var res tool.Result
		if o.phases, res, o.err = j.call(from); o.err == nil { // a large result takes a while
			o.text, o.err = j.encode(res)
			o.sum = sumOf(o.text)
		}
	})
	j.ran.Add(1)
	j.settle(o)
}

// alongside shows signs of life, and looks whether the call is still this worker's, until work has returned.
func (j *job) alongside(work func()) {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		work()
	}()
	tick := time.NewTicker(j.lapse / 3)
	defer tick.Stop()
	if time.Since(j.beaten) > j.lapse/3 {
		j.beat()
	}
	for {
		select {
		case <-ended:
			return
		case <-j.changed:
			if j.overtaken() {
				j.cancel(errCanceled)
			}
		case <-tick.C:
			j.beat()
		}
	}
}

// beat shows a sign of life.
func (j *job) beat() {
	if context.Cause(j.ctx) != nil {
		return
	}
	if j.Mode == AtLeastOnce {
		_ = j.msg.InProgress()
	}
	if err := j.replace(j.record); errors.Is(err, errLost) {
		j.cancel(errCanceled)
	}
}

// isOver reports whether the call has ended, or is gone. Otherwise its message is needed by the worker that has it,
// or will have.
func (j *job) isOver() bool {
	ctx, cancel := j.io()
	defer cancel()
	there, _, err := j.store.read(ctx, keyOf(j.Key, j.ID))
	return errors.Is(err, jetstream.ErrKeyNotFound) || err == nil && there.state().Ended()
}

// overtaken reports whether the record is another's.
func (j *job) overtaken() bool {
	ctx, cancel := j.io()
	defer cancel()
	there, _, err := j.store.read(ctx, keyOf(j.Key, j.ID))
	return err == nil && there.s != nil && there.s.Claim != j.record.s.Claim && j.entitled(there)
}

// call runs the call through the chain of the host.
func (j *job) call(from Caller) (*policy.Phases, tool.Result, error) {
	opts := []host.SessionOption{host.WithCaller(host.Caller{Name: from.String(), Account: from.Account(), Via: mounted})}
	if j.cfg.Accept != nil {
		more, err := j.cfg.Accept(from)
		if err != nil {
			return nil, tool.Result{}, err
		}
		opts = append(opts, more...)
	}
	s := j.cfg.Host.Session(opts...)
	defer s.Close(context.WithoutCancel(j.ctx)) //nolint:errcheck // it has no error
	ctx := context.WithValue(j.ctx, mode.FromQueue{}, true)
	if j.Trace != "" {
		ctx = context.WithValue(ctx, callctx.Trace{}, &tool.Trace{Parent: j.Trace, State: j.Tracing})
	}
	out, res, err := s.CallWith(ctx, tool.Call{ID: j.ID, Name: j.Tool, Arguments: j.arguments}, host.CallOptions{IdempotencyKey: j.name()})
	return &out.Metadata.Phases, res, err
}

// encode returns the JSON of a result.
func (j *job) encode(res tool.Result) ([]byte, error) {
	text, err := json.Marshal(res)
	switch {
	case err != nil:
		return nil, tool.Errorf(tool.CodeInvalidResult, "the result of %s is not JSON: %w", j.Tool, err)
	case len(text) > min(maxResult, j.store.chunk*maxChunks):
		return nil, tool.Errorf(tool.CodeResourceExhausted, "the result of %s has %d bytes, more than a durable call can have", j.Tool, len(text))
	}
	return text, nil
}

// settle stores how the call ended.
func (j *job) settle(o outcome) {
	s := *j.record.s
	s.State, s.Ended, s.Phases = StateDone, j.cfg.Now().UTC(), o.phases
	cause := context.Cause(j.ctx)
	switch e := tool.AsError(o.err); {
	case errors.Is(cause, errCanceled): // how it ends stands in the record
		if j.isOver() {
			j.ack()
		}
		return
	case o.err == nil:
	case errors.Is(cause, errClosing) && j.Mode == AtLeastOnce:
		j.giveBack(0, true)
		return
	case j.Mode == AtLeastOnce && e.Code == tool.CodeCrashed && s.Attempt < j.cfg.Attempts: // as if this host had
		j.giveBack(backFrom, true)
		return
	case errors.Is(cause, errClosing) && !e.Unsent:
		s.State, s.Error, s.Unknown = StateFailed, closing(j.cfg.Name, j.order), true
	case j.Mode == AtLeastOnce && e.Unsent && later(e.Code):
		j.giveBack(max(time.Duration(e.RetryAfter), backFrom), false)
		return
	default:
		s.State, s.Error = StateFailed, fault.Sent(o.err)
	}
	if s.State == StateDone {
		s.Size, s.Sum = len(o.text), o.sum
	}
	switch err := j.persist(s, o.text); {
	case err != nil && !errors.Is(err, errLost):
		j.log.Error("how a durable call ended was not stored", "call", j.ID, "error", err)
	case j.Mode == AtLeastOnce && (err == nil || j.isOver()): // else another worker needs the message
		j.ack()
	}
}

// later reports whether a call that was not sent may be tried again elsewhere or later.
func later(c tool.Code) bool {
	return c == tool.CodeUnavailable || c == tool.CodeResourceExhausted || c == tool.CodeRateLimited
}

// giveBack leaves a call that may run again to another worker, or to this one later. One that has not begun
// has not been attempted.
func (j *job) giveBack(after time.Duration, begun bool) {
	s := *j.record.s
	s.State, s.Claim = StateQueued, ""
	if !begun {
		s.Attempt--
	}
	if next, err := j.record.with(j.cfg.Key, s, nil); err == nil {
		_ = j.replace(next) // else it counts as dead after a while
	}
	_ = j.msg.NakWithDelay(after)
	time.AfterFunc(after, func() { _ = j.cfg.Conn.Publish(nudges+j.token(), nil) }) // workers find it without, too
}
