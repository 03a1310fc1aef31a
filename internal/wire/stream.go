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

	"github.com/toolhost/toolhost/internal/callctx"
	"github.com/toolhost/toolhost/internal/callstage"
	"github.com/toolhost/toolhost/internal/deadline"
	"github.com/toolhost/toolhost/pluginsdk/tool"
	pluginv1 "github.com/toolhost/toolhost/proto/toolhost/plugin/v1"
)

// Stream is the host's end of one plugin's stream of frames, which carries many
// concurrent calls on one carrier. It is safe for concurrent use. Create one with
// [NewStream] or [Client.OpenStream].
type Stream struct {
	carrier Carrier
	hooks   StreamHooks
	out     *outbox
	in      *inbox
	whole   []byte // the result being read, if it is in one frame
	small   []byte // the payload being read of any other frame

	// readToken holds a token while one of the callers reads for all. It is nil if a
	// dedicated goroutine reads.
	readToken chan struct{}
	idling    atomic.Bool // a goroutine reads while there are no calls

	failed chan struct{} // closed when the stream has failed

	awaited atomic.Int32 // calls in the table that a caller waits for

	mu               sync.Mutex
	calls            map[uint32]*pending
	last             uint32 // the newest call's number
	unansweredBytes  int    // bytes of the calls that have not been answered
	abandoned        int    // calls without an answer whose callers no longer wait
	err              error  // why the stream has failed
	timer            *time.Timer
	timerAt          time.Time // when the timer fires; zero: it is not set
	used             bool      // there have been calls since the timer last fired
	callerWrite      uint64    // the caller's write in progress when the timer last fired
	callerWriteSince time.Time // when the timer first saw that write; zero: there was none
	logs             int       // lines that the plugin has logged in this second
	logSince         time.Time
}

// StreamHooks receives what does not belong to a call's answer. Hooks other than Pace
// must not block. Each hook may be nil.
type StreamHooks struct {
	// Pace is called with the size, in bytes, of each frame that carries no answer:
	// progress reports, log records, notices, windows, and chunks of a few bytes. It may
	// block, which delays the calls of this plugin only.
	Pace func(bytes int)
	// Asks says that the plugin knows about questions, see [FeatureAsk]. Default: false, and
	// its calls cannot ask any.
	Asks bool
	// Waits bounds how long the time of a call stands still, all in all, while the other end says that it waits for a
	// person there. Default: not at all.
	Waits time.Duration
	// Changed is called when the plugin's tools have changed.
	Changed func()
	// Failed is called with [Stream.Err] in a new goroutine when the stream has failed or was closed, which may be before
	// who opens it has it.
	Failed func(error)
	// Log receives each line that the plugin logs. Level is "trace", "debug", "info",
	// "warn" or "error"; call is the ID of the call that the line belongs to, and trace that of its
	// trace, or empty.
	Log func(level, message, call, trace string)
}

// pending is a call that was sent.
type pending struct {
	done      chan struct{} // receives one token when the call is finished
	finished  atomic.Bool   // set before done receives the token
	id        string
	deadline  time.Time // zero: none
	size      int       // of the request, in bytes
	abandoned bool      // the caller no longer waits, but the plugin still owes the answer
	reply     []byte    // an ExecuteResponse
	ascii     int       // from where on it is known to be ASCII
	err       error
	progress  chan tool.Progress // nil: the caller wants no reports
	deltas    *deltas            // nil: the caller wants none
	questions *questions         // nil: they cannot be answered
	caller    context.Context    // has who wants the lines that the tool logs
	limit     *deadline.Pausable // of the call's time, if the stream does not watch it
	asked     int                // questions, answered or refused
	standing  *standing          // nil: its time has not stood still
}

var pendings = sync.Pool{New: func() any { return &pending{done: make(chan struct{}, 1)} }}

const (
	// maxUnreadBytes and maxUnreadCalls bound the requests without an answer up to
	// which callers write themselves. They are so low that no write has to wait for a
	// plugin that does not read. Beyond them a goroutine writes for the callers.
	maxUnreadBytes = 32 << 10
	maxUnreadCalls = 128
	// callerWriteTimeout bounds how long one write may block a caller. Only a plugin
	// that answers requests without reading them can cause that.
	callerWriteTimeout = 2 * time.Second
	// maxAbandoned is how many calls a plugin may leave unanswered after their callers
	// have stopped waiting.
	maxAbandoned = 1024
	// idleAfter is the time without calls after which a goroutine reads, to receive
	// notices and notice the end of the connection.
	idleAfter = 50 * time.Millisecond
	// logRate is how many lines a plugin may log per second.
	logRate = 1000
)

var errClosed = errors.New("the stream was closed")

// NewStream returns a stream on a carrier. The stream closes the carrier when it ends.
func NewStream(c Carrier, hooks StreamHooks) *Stream {
	s := &Stream{carrier: c, hooks: hooks, calls: map[uint32]*pending{}, failed: make(chan struct{})}
	s.out = newOutbox(c, func() bool { return s.awaited.Load() > 1 }, s.fail)
	s.in = newInbox(c, func(number uint32, bytes int) {
		s.out.grant(number, bytes)
		s.out.flushAsync()
	})
	if s.in.interrupt == nil {
		go s.read()
	} else {
		s.readToken = make(chan struct{}, 1)
		go s.idle()
	}
	return s
}

// OpenStream opens a stream on the plugin's gRPC connection. Ctx bounds only the
// opening; the stream remains open until it is closed.
//
// # Errors
//
// OpenStream returns the connection errors of [Client.Execute].
func (c *Client) OpenStream(ctx context.Context, hooks StreamHooks) (*Stream, error) {
	streamCtx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer context.AfterFunc(ctx, cancel)() // ctx bounds the opening
	stream, err := c.conn.NewStream(streamCtx, &pluginv1.ToolPlugin_ServiceDesc.Streams[0],
		pluginv1.ToolPlugin_Stream_FullMethodName, grpc.ForceCodecV2(newCodec()))
	if err != nil {
		cancel()
		return nil, statusError(ctx, "open a stream", err)
	}
	return NewStream(&pipe{stream: stream, cancel: cancel}, hooks), nil
}

// Execute runs one tool in the plugin.
//
// # Errors
//
// Execute returns the errors of [Client.Execute]. The cause is [ErrProtocol] if the
// plugin violated the stream's protocol, which ends all its calls.
func (s *Stream) Execute(ctx context.Context, call tool.Call) (tool.Result, error) {
	caller := ctx
	req := request{call: call}
	var at time.Time
	limit, _ := ctx.(*deadline.Pausable)
	// The end of our own context need not wake a goroutine: the stream watches deadlines.
	if own, ok := ctx.(*deadline.Context); ok {
		caller = own.Parent()
	}
	if until, ok := ctx.Deadline(); ok {
		at, req.timeout = until, max(time.Until(until), 1)
	}
	report := callctx.Get[func(tool.Progress)](caller, callctx.Progress{})
	text := newDeltas(callctx.Get[func(tool.Delta)](caller, callctx.Deltas{}))
	var asked *questions
	if ask := callctx.Get[tool.Asker](caller, callctx.Ask{}); ask != nil && s.hooks.Asks {
		asked = newQuestions(ctx, ask)
		defer asked.end()
		req.ask, caller, at = true, ctx, time.Time{} // a deadline that stands still is not watched here
	}
	sent := callctx.Get[callctx.Sender](caller, callctx.Sent{})
	k := pendings.Get().(*pending) //nolint:forcetypeassert // nothing else is in there
	req.progress, req.deltas, req.trace = report != nil, text != nil, tool.TraceFrom(caller)
	*k = pending{
		done: k.done, id: call.ID, deadline: at, size: headerSize + req.length(), questions: asked, caller: caller,
		deltas: text, limit: limit,
	}
	if report != nil {
		k.progress = make(chan tool.Progress, progressQueue)
	}
	var long []byte // the request, if it is not to be copied
	tooLarge := len(call.Arguments) > MaxMessage
	if k.size > maxCopied && !tooLarge {
		long = appendRequest(make([]byte, 0, req.length()), &req)
	}
	switch {
	case ctx.Err() != nil:
		err := gaveUp(ctx, call.Name, deadline.Cause(ctx))
		err.Unsent = true
		return tool.Result{}, err
	case tooLarge || len(long) > MaxMessage:
		return tool.Result{}, tool.Errorf(tool.CodeResourceExhausted, "the call of %s is too large to be sent", call.Name).
			At(callstage.Execute).NeverSent().Try(fmt.Sprintf("one message holds at most %d MiB", MaxMessage>>20))
	}
	number, direct, err := s.register(k)
	if err != nil {
		return tool.Result{}, tool.Errorf(tool.CodeUnavailable, "the plugin could not run %s: %w", call.Name, err).
			At(callstage.Execute).NeverSent()
	}
	if s.idling.Load() {
		s.interrupt()
	}
	if long == nil {
		s.out.message(kindCall, number, func(b []byte) []byte { return appendRequest(b, &req) })
	} else {
		s.out.large(kindCall, number, sent, len(long), long)
	}
	if k.finished.Load() { // the deadline passed before the request was queued
		s.cancelRemote(number)
	}
	if direct {
		if err := s.out.flushSome(); err != nil {
			s.fail(err)
		}
	} else {
		s.out.flushAsync()
	}
	if long == nil && sent != nil {
		sent.NoteSent()
	}
	awaited := s.await(caller, number, k, report)
	if k.standing != nil {
		s.mu.Lock()
		k.standing.goOn(time.Now())
		s.mu.Unlock()
	}
	if !awaited {
		return tool.Result{}, gaveUp(caller, call.Name, context.Cause(caller))
	}
	reply, ascii, err := k.reply, k.ascii, k.err
	if report == nil && asked == nil && text == nil { // otherwise others may still use k
		k.reply, k.err, k.caller, k.limit, k.standing = nil, nil, nil, nil, nil // the pool would keep them alive
		pendings.Put(k)
	}
	switch {
	case err == context.DeadlineExceeded: //nolint:errorlint // set by onTimer
		awaitEnd(ctx)
		return tool.Result{}, gaveUp(ctx, call.Name, deadline.Cause(ctx))
	case err != nil:
		return tool.Result{}, err
	}
	return parseLooked(reply, ascii)
}

// awaitEnd waits until a context whose deadline has passed is done, so that its cause is
// known: the stream's timer may fire slightly earlier than the context's.
func awaitEnd(ctx context.Context) {
	if ctx.Err() != nil {
		return
	}
	limit := time.NewTimer(time.Second) // for a context that is never done
	defer limit.Stop()
	select {
	case <-ctx.Done():
	case <-limit.C:
	}
}

// register assigns a call its number, and reports whether its caller may write the
// request itself because the write cannot block.
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
	s.awaited.Add(1)
	s.unansweredBytes += k.size
	s.used = true
	s.armTimer(k.deadline)
	return s.last, s.unansweredBytes <= maxUnreadBytes && len(s.calls) <= maxUnreadCalls, nil
}

// progressQueue is how many reports are kept for a slow caller.
const progressQueue = 16

// await waits for the call to finish. It returns false if ctx ended first.
func (s *Stream) await(ctx context.Context, number uint32, k *pending, report func(tool.Progress)) bool {
	lead := s.readToken
	if (report != nil || k.deltas != nil) && lead != nil {
		// The caller's functions must not delay reading for other calls.
		over := make(chan struct{})
		defer close(over)
		go s.readFor(ctx, k, over)
		lead = nil
	}
	for {
		select {
		case <-k.done:
			k.deliver(report)
			return true
		case <-ctx.Done():
		case p := <-k.progress:
			report(p)
			continue
		case <-k.deltas.arrived():
			s.accept(number, k.deltas.deliver())
			continue
		case lead <- struct{}{}:
			s.readUntil(ctx, k)
		}
		if k.finished.Load() || !s.abandon(number, k) {
			<-k.done
			k.deliver(report)
			return true
		}
		return false
	}
}

// deliver hands the caller what arrived before the call finished.
func (k *pending) deliver(report func(tool.Progress)) {
	k.deltas.deliver()
	for report != nil {
		select {
		case p := <-k.progress:
			report(p)
		default:
			return
		}
	}
}

// readFor takes a caller's turn to read, unless the call finishes first.
func (s *Stream) readFor(ctx context.Context, k *pending, over <-chan struct{}) {
	select {
	case s.readToken <- struct{}{}:
		s.readUntil(ctx, k)
	case <-over:
	}
}

// abandon marks a call as abandoned and tells the plugin so. It returns false if the
// call has just finished.
func (s *Stream) abandon(number uint32, k *pending) bool {
	s.mu.Lock()
	if s.calls[number] != k {
		s.mu.Unlock()
		return false
	}
	k.abandoned = true
	s.abandoned++
	s.awaited.Add(-1)
	tooMany := s.abandoned > maxAbandoned
	s.mu.Unlock()
	if tooMany {
		s.fail(protocolError("%d canceled calls are not answered", maxAbandoned))
		return true
	}
	s.cancelRemote(number)
	return true
}

// cancelRemote tells the plugin that the caller no longer waits for a call, unless
// nothing of the call has been sent.
func (s *Stream) cancelRemote(number uint32) {
	if found, begun := s.out.drop(number); found && !begun {
		s.mu.Lock()
		s.remove(number)
		s.mu.Unlock()
		return
	}
	s.out.control(kindCancel, number, nil)
	s.out.flushAsync()
}

// remove deletes a call from the table and returns it, or nil if there is no such call.
// The caller holds s.mu.
func (s *Stream) remove(number uint32) *pending {
	k := s.calls[number]
	if k == nil {
		return nil
	}
	delete(s.calls, number)
	s.unansweredBytes -= k.size
	if k.abandoned {
		s.abandoned--
	} else {
		s.awaited.Add(-1)
	}
	return k
}

// Failed returns a channel that is closed when the stream has failed or was closed.
func (s *Stream) Failed() <-chan struct{} { return s.failed }

// Err returns the error with which the stream failed, or nil if it has not failed.
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

// fail ends the stream and completes each of its calls with an error.
func (s *Stream) fail(cause error) {
	err := tool.Errorf(tool.CodeUnavailable, "the connection to the plugin is gone: %s", cause.Error()).
		At(callstage.Execute).Because(fmt.Errorf("%w: %w", ErrDisconnected, cause))
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
	s.awaited.Store(0)
	if s.timer != nil {
		s.timer.Stop()
	}
	for _, k := range calls {
		if !k.abandoned {
			k.complete(nil, err)
		}
	}
	s.mu.Unlock()
	close(s.failed)
	s.out.fail(err)
	_ = s.carrier.Close()
	if s.hooks.Failed != nil {
		go s.hooks.Failed(err)
	}
}

// complete sets the call's outcome and wakes its caller. The caller of complete holds the
// stream's lock and has removed the call from the table.
func (k *pending) complete(reply []byte, err error) {
	k.reply, k.err = reply, err
	k.finished.Store(true)
	k.done <- struct{}{}
}
