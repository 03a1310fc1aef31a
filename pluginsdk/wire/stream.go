package wire

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"

	"github.com/toolhost/toolhost/internal/deadline"
	"github.com/toolhost/toolhost/pluginsdk/tool"
	pluginv1 "github.com/toolhost/toolhost/proto/toolhost/plugin/v1"
)

// Stream is a host's end of one plugin's stream of frames: many calls at once, on
// one carrier. It is safe for concurrent use. Make one with [NewStream] or
// [Client.OpenStream].
type Stream struct {
	carrier Carrier
	hooks   StreamHooks
	out     *outbox
	in      *inbox
	whole   []byte // the result that is being read, where it comes in one frame
	small   []byte // the payload of another frame that is being read

	// lead holds a token for who reads: one of the callers, for all. Nil where a
	// goroutine of its own does.
	lead   chan struct{}
	idling atomic.Bool // a goroutine reads while there are no calls

	down chan struct{} // closed when the stream has failed

	under atomic.Int32 // how many calls are in the table that somebody waits for

	mu       sync.Mutex
	calls    map[uint32]*pending
	last     uint32 // the newest call's number
	sent     int    // bytes of the calls that were not answered yet
	given    int    // calls that nobody waits for, and that were not answered yet
	err      error  // why the stream has failed
	timer    *time.Timer
	wake     time.Time // when the timer fires; zero: it does not
	used     bool      // there were calls since it last fired
	write    uint64    // a write in which a caller was when the timer fired
	writing  time.Time // since when; zero: none was
	logs     int       // lines of the plugin's in this second
	logSince time.Time
}

// StreamHooks are told of what is no call's. But for Pace they must not
// block. Nil ones are left out.
type StreamHooks struct {
	// Pace is told the size, in bytes, of each frame that answers nothing: reports, log
	// records, notices, windows, chunks of a few bytes. It may wait, which holds up this plugin's calls alone.
	Pace func(bytes int)
	// Changed is told that the plugin's tools are others now.
	Changed func()
	// Failed is told that the stream has failed or was closed, by a goroutine of its
	// own.
	Failed func()
	// Log receives a line that the plugin logs. Level is "trace", "debug", "info",
	// "warn" or "error"; call is the ID of the call that it concerns, or empty.
	Log func(level, message, call string)
}

// pending is a call that was sent.
type pending struct {
	done     chan struct{} // one token, when it is over
	over     atomic.Bool   // set before
	id       string
	at       time.Time // when it has taken too long; zero: whenever its caller thinks so
	size     int       // of what was sent, in bytes
	nobody   bool      // waits for it any more; the plugin still owes the answer
	reply    []byte    // an ExecuteResponse
	err      error
	progress chan tool.Progress // nil: nobody wants to know
}

var pendings = sync.Pool{New: func() any { return &pending{done: make(chan struct{}, 1)} }}

const (
	// unread is how much of what was sent may not be answered yet if callers are to
	// write themselves, in bytes and calls: so little that no write has to wait for
	// a plugin that does not read. Beyond it a goroutine writes for them.
	unread      = 32 << 10
	unreadCalls = 128
	// patience is how long one write may keep a caller. A plugin that answers what it
	// has not read can do that, and no other.
	patience = 2 * time.Second
	// unanswered is how many calls a plugin may leave without an answer after their
	// callers have given up.
	unanswered = 1024
	// idleAfter is after which time without calls a goroutine reads, for notices and
	// the connection's end.
	idleAfter = 50 * time.Millisecond
	// logRate is how many lines a second a plugin's log may have.
	logRate = 1000
)

var errClosed = errors.New("the stream was closed")

// NewStream speaks on a carrier, which the stream closes in the end.
func NewStream(c Carrier, hooks StreamHooks) *Stream {
	s := &Stream{carrier: c, hooks: hooks, calls: map[uint32]*pending{}, down: make(chan struct{})}
	s.out = newOutbox(c, func() bool { return s.under.Load() > 1 }, s.fail)
	s.in = newInbox(c, func(number uint32, bytes int) {
		s.out.grant(number, bytes)
		s.out.flushAsync()
	})
	if s.in.interrupt == nil {
		go s.read()
	} else {
		s.lead = make(chan struct{}, 1)
		go s.idle()
	}
	return s
}

// OpenStream opens a stream on the plugin's gRPC connection. The stream lives
// until it is closed, whatever becomes of ctx.
//
// # Errors
//
// Those of [Client.Execute] that say the plugin cannot be reached.
func (c *Client) OpenStream(ctx context.Context, hooks StreamHooks) (*Stream, error) {
	life, end := context.WithCancel(context.WithoutCancel(ctx))
	defer context.AfterFunc(ctx, end)() // opening it may take no longer than ctx
	stream, err := c.conn.NewStream(life, &pluginv1.ToolPlugin_ServiceDesc.Streams[0], pluginv1.ToolPlugin_Stream_FullMethodName,
		grpc.ForceCodecV2(newCodec()))
	if err != nil {
		end()
		return nil, statusError(ctx, "open a stream", err)
	}
	return NewStream(&pipe{stream: stream, end: end}, hooks), nil
}

// Execute runs one tool in the plugin.
//
// # Errors
//
// Those of [Client.Execute]. [ErrProtocol] is the cause where the plugin broke the
// stream's rules, which ends all its calls.
func (s *Stream) Execute(ctx context.Context, call tool.Call) (tool.Result, error) {
	caller := ctx
	req := request{call: call}
	var at time.Time
	if own, ok := ctx.(*deadline.Context); ok { // whose end need not wake anybody: the stream watches deadlines itself
		caller = own.Caller()
	}
	if until, ok := ctx.Deadline(); ok {
		at, req.timeout = until, max(time.Until(until), 1)
	}
	report := tool.ProgressFrom(caller)
	k := pendings.Get().(*pending) //nolint:forcetypeassert // nothing else is in there
	req.progress = report != nil
	*k = pending{done: k.done, id: call.ID, at: at, size: headerSize + requestSize(&req)}
	if report != nil {
		k.progress = make(chan tool.Progress, progressQueue)
	}
	switch {
	case ctx.Err() != nil:
		err := gaveUp(ctx, call.Name, deadline.Cause(ctx))
		err.Unsent = true
		return tool.Result{}, err
	case k.size-headerSize > MaxMessage:
		return tool.Result{}, &tool.Error{
			Code: tool.CodeResourceExhausted, Stage: tool.StageExecute, Unsent: true,
			Message: "the call of " + call.Name + " is too large to be sent", Hint: fmt.Sprintf("one message holds at most %d MiB", MaxMessage>>20),
		}
	}
	number, direct, err := s.register(k)
	if err != nil {
		return tool.Result{}, &tool.Error{
			Code: tool.CodeUnavailable, Stage: tool.StageExecute, Unsent: true, Err: err,
			Message: "the plugin could not run " + call.Name + ": " + err.Error(),
		}
	}
	if s.idling.Load() {
		s.interrupt()
	}
	encode := func(b []byte) []byte { return appendRequest(b, &req) }
	if size := k.size - headerSize; size <= copied {
		s.out.message(kindCall, number, size, encode)
	} else {
		s.out.large(kindCall, number, size, encode(make([]byte, 0, size)))
	}
	if k.over.Load() { // too late, and given up before it was queued
		s.giveUp(number)
	}
	if direct {
		if err := s.out.flushSome(); err != nil {
			s.fail(err)
		}
	} else {
		s.out.flushAsync()
	}
	if !s.await(caller, number, k, report) {
		return tool.Result{}, gaveUp(caller, call.Name, context.Cause(caller))
	}
	reply, err := k.reply, k.err
	if report == nil { // else who reads for it may still look at it
		k.reply, k.err = nil, nil // a pool would keep them
		pendings.Put(k)
	}
	switch {
	case err == context.DeadlineExceeded: //nolint:errorlint // the watch's own word
		awaitEnd(ctx)
		return tool.Result{}, gaveUp(ctx, call.Name, deadline.Cause(ctx))
	case err != nil:
		return tool.Result{}, err
	}
	return parseResponse(reply)
}

// awaitEnd waits for a context whose deadline has passed: the stream's clock may
// be a moment ahead of its own, which knows the cause.
func awaitEnd(ctx context.Context) {
	if ctx.Err() != nil {
		return
	}
	limit := time.NewTimer(time.Second) // for a context that does not keep its word
	defer limit.Stop()
	select {
	case <-ctx.Done():
	case <-limit.C:
	}
}

// register gives a call its number, and tells whether its caller may write it
// without having to wait for the plugin to read.
func (s *Stream) register(k *pending) (number uint32, direct bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return 0, false, s.err
	}
	for {
		s.last++
		if s.last != 0 && s.calls[s.last] == nil {
			break
		}
	}
	s.calls[s.last] = k
	s.under.Add(1)
	s.sent += k.size
	s.used = true
	s.watch(k.at)
	return s.last, s.sent <= unread && len(s.calls) <= unreadCalls, nil
}

// progressQueue is how many reports wait for a slow caller.
const progressQueue = 16

// await reports whether the call is over; else its caller has given up.
func (s *Stream) await(ctx context.Context, number uint32, k *pending, report func(tool.Progress)) bool {
	lead := s.lead
	if report != nil && lead != nil {
		// Somebody else's function must not hold up the reading.
		over := make(chan struct{})
		defer close(over)
		go s.readFor(ctx, k, over)
		lead = nil
	}
	for {
		select {
		case <-k.done:
			k.tell(report)
			return true
		case <-ctx.Done():
		case p := <-k.progress:
			report(p)
			continue
		case lead <- struct{}{}:
			s.readUntil(ctx, k)
		}
		if k.over.Load() || !s.abandon(number, k) {
			<-k.done
			k.tell(report)
			return true
		}
		return false
	}
}

// tell hands out the reports that came before the call was over.
func (k *pending) tell(report func(tool.Progress)) {
	for report != nil {
		select {
		case p := <-k.progress:
			report(p)
		default:
			return
		}
	}
}

// readFor takes a caller's turn at reading, unless the call is over before.
func (s *Stream) readFor(ctx context.Context, k *pending, over <-chan struct{}) {
	select {
	case s.lead <- struct{}{}:
		s.readUntil(ctx, k)
	case <-over:
	}
}

// abandon tells the plugin that nobody waits for the call any more, and reports
// whether nobody does: it may have ended in that moment.
func (s *Stream) abandon(number uint32, k *pending) bool {
	s.mu.Lock()
	if s.calls[number] != k {
		s.mu.Unlock()
		return false
	}
	k.nobody = true
	s.given++
	s.under.Add(-1)
	tooMany := s.given > unanswered
	s.mu.Unlock()
	if tooMany {
		s.fail(protocolError("%d cancelled calls are not answered", unanswered))
		return true
	}
	s.giveUp(number)
	return true
}

// giveUp tells the plugin of a call that nobody waits for any more, unless it
// never heard of it.
func (s *Stream) giveUp(number uint32) {
	if found, begun := s.out.drop(number); found && !begun {
		s.mu.Lock()
		s.answered(number)
		s.mu.Unlock()
		return
	}
	s.out.control(kindCancel, number, nil)
	s.out.flushAsync()
}

// answered takes a call out of the table and returns it; nil: it was not there.
// The stream's lock is held.
func (s *Stream) answered(number uint32) *pending {
	k := s.calls[number]
	if k == nil {
		return nil
	}
	delete(s.calls, number)
	s.sent -= k.size
	if k.nobody {
		s.given--
	} else {
		s.under.Add(-1)
	}
	return k
}

// Failed is closed when the stream has failed or was closed.
func (s *Stream) Failed() <-chan struct{} { return s.down }

// Err is why the stream has failed; nil: it has not.
func (s *Stream) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// Close ends the stream and all its calls.
func (s *Stream) Close() error {
	s.fail(errClosed)
	return nil
}

// fail ends the stream, and each of its calls once.
func (s *Stream) fail(cause error) {
	err := &tool.Error{
		Code: tool.CodeUnavailable, Stage: tool.StageExecute,
		Message: "the connection to the plugin is gone: " + cause.Error(), Err: fmt.Errorf("%w: %w", ErrDisconnected, cause),
	}
	if errors.Is(cause, io.EOF) || errors.Is(cause, io.ErrUnexpectedEOF) {
		err.Message = "the connection to the plugin is gone"
	}
	if errors.Is(cause, ErrProtocol) {
		err.Code, err.Message, err.Hint = tool.CodeInvalidResult, cause.Error(), reportToAuthor
	}
	s.mu.Lock()
	if s.err != nil {
		s.mu.Unlock()
		return
	}
	s.err = err
	calls := s.calls
	s.calls = map[uint32]*pending{}
	s.under.Store(0)
	if s.timer != nil {
		s.timer.Stop()
	}
	for _, k := range calls {
		if !k.nobody {
			k.end(nil, err)
		}
	}
	s.mu.Unlock()
	close(s.down)
	s.out.fail(err)
	_ = s.carrier.Close()
	if s.hooks.Failed != nil {
		go s.hooks.Failed()
	}
}

// end says how the call ended. The stream's lock is held, and the call is no
// longer in its table.
func (k *pending) end(reply []byte, err error) {
	k.reply, k.err = reply, err
	k.over.Store(true)
	k.done <- struct{}{}
}
