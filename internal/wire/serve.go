package wire

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/toolhost/toolhost/internal/callctx"
	"github.com/toolhost/toolhost/internal/deadline"
	"github.com/toolhost/toolhost/internal/ident"
	"github.com/toolhost/toolhost/internal/textstream"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Serve answers the calls that arrive on a carrier until the carrier ends, and closes it.
// The contexts of handlers end with ctx and with the carrier.
//
// # Errors
//
// Serve returns the error of reading, or nil if the host closed the carrier.
func (s *Server) Serve(ctx context.Context, c Carrier) error {
	base, cancel := context.WithCancel(ctx)
	v := &service{
		server: s, base: base, done: make(chan error, 1),
		runs: map[uint32]*run{}, slow: map[string]bool{}, names: map[string]string{},
	}
	v.out = newOutbox(c, func() bool { return v.detached.Load() > 1 }, func(error) {})
	v.in = newInbox(c, func(number uint32, bytes int) {
		v.out.grant(number, bytes)
		v.out.flushAsync()
	})
	defer s.subscribe(v)()
	go v.loop(0)
	err := <-v.done
	cancel()
	_ = c.Close()
	v.out.fail(errClosed)
	if errors.Is(err, io.EOF) || errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// service answers the calls of one carrier. The reader goroutine runs the handlers
// itself, one after the other, so that a fast call needs no new goroutine and no stack
// growth. If a handler takes longer than takeOverAfter, another goroutine becomes the
// reader, so that other calls do not wait; the next call of that tool runs in a new
// goroutine from the start.
type service struct {
	server   *Server
	base     context.Context // ends with the carrier
	out      *outbox
	in       *inbox
	payload  []byte       // the payload of the frame being read, unless it is part of a chunked message
	detached atomic.Int32 // handlers that run outside the reader
	done     chan error   // receives the error of reading

	mu       sync.Mutex
	reader   int               // the number of the loop that reads
	current  *run              // the call that the reader runs; nil: it is reading
	started  uint64            // calls that readers have run so far
	watching bool              // the watch goroutine is running
	runs     map[uint32]*run   // calls that run outside the reader, by number
	slow     map[string]bool   // tools that were slow the last time
	names    map[string]string // see intern
	recent   [8]string         // of names, by their length
}

// run is one call that is being answered, and the context of its handler.
type run struct {
	deadline.Context
	service  *service
	call     tool.Call
	number   uint32
	progress bool
	detached bool        // it runs outside the reader
	finished atomic.Bool // its reports are no longer sent
	canceled atomic.Bool // the caller no longer waits for the result
	asks     bool        // questions can be answered
	asking   *asking     // nil: its time does not stand still
	trace    tool.Trace
	streamed textstream.Slot
}

// takeOverAfter is the time after which another goroutine becomes the reader in place of
// one that runs a handler. It can be up to twice as long, because the watch goroutine
// checks at this interval. A timer per call would wake a thread each time.
const takeOverAfter = 500 * time.Microsecond

// loop reads and runs calls while it is the reader.
func (v *service) loop(reader int) {
	for {
		if !v.in.ready() {
			v.flush() // before waiting for the host
		}
		var call *run
		err := v.in.next(v.routePayload, func(f frame) (err error) {
			call, err = v.handleFrame(f)
			return err
		})
		if err != nil {
			v.done <- err
			return
		}
		if call != nil && !v.run(reader, call) {
			return
		}
	}
}

// routePayload chooses where a frame's payload goes.
func (v *service) routePayload(f frame) error {
	switch f.kind {
	case kindChunk:
		return v.in.assemble(f)
	case kindCall:
		if v.in.messages[f.number] != nil {
			return v.in.assemble(f)
		}
	case kindWindow, kindAnswer, kindMore, kindEnded:
	default: // no payload, or a kind of a later version
		return nil
	}
	v.payload = make([]byte, f.size)
	v.in.readInto(v.payload)
	return nil
}

// handleFrame acts on a frame, or returns the call that it starts.
func (v *service) handleFrame(f frame) (*run, error) {
	switch f.kind {
	case kindCall:
		payload := v.in.close(f.number)
		if payload == nil {
			payload = v.payload
		}
		req, err := parseRequest(payload, v.intern)
		if err != nil {
			return nil, err
		}
		var until time.Time
		if req.timeout > 0 {
			until = time.Now().Add(req.timeout)
		}
		call := &run{service: v, call: req.call, number: f.number, progress: req.progress, trace: req.trace}
		if call.asks = req.ask; req.ask || v.server.Waits {
			call.asking = &asking{Pausable: deadline.NewPausable(v.base, until, nil, time.Time{}, nil)}
			call.Init(call.asking, time.Time{}, nil)
		} else {
			call.Init(v.base, until, nil)
		}
		if req.deltas {
			call.streamed.Sink = call.deltas()
		}
		return call, nil
	case kindChunk:
		v.in.consumed(f.number)
	case kindCancel:
		v.cancel(f.number)
	case kindAnswer:
		return nil, v.answered(f.number, v.payload)
	case kindMore:
		return nil, v.accepted(f.number, v.payload)
	case kindEnded:
		return nil, v.sessionEnded(v.payload)
	case kindWindow:
		if len(v.payload) != 4 {
			return nil, protocolError("a window of %d bytes", len(v.payload))
		}
		if v.out.granted(f.number, int(min(binary.LittleEndian.Uint32(v.payload), maxGrant))) {
			v.flush()
		}
	default:
	}
	return nil, nil
}

// maxNames bounds the number of names that intern and slow hold.
const maxNames = 4096

// intern returns the string for a tool's name or a session's ID, without an allocation
// if the name has occurred before.
func (v *service) intern(b []byte) string {
	last := &v.recent[len(b)%len(v.recent)]
	if *last == string(b) {
		return *last
	}
	if s, ok := v.names[string(b)]; ok {
		*last = s
		return s
	}
	if len(v.names) == maxNames {
		clear(v.names)
	}
	s := string(b)
	if len(s) <= ident.MaxTool {
		v.names[s] = s
	}
	return s
}

// run runs a call, and reports whether this loop is still the reader.
func (v *service) run(reader int, call *run) (reads bool) {
	if !v.startInline(call) {
		go v.runDetached(call)
		return true
	}
	v.handle(call, func(ends bool) {
		reads = v.finishInline(reader, ends)
	})
	if !reads {
		v.flush()
	}
	return reads
}

// runDetached runs a call of a tool that was slow the last time.
func (v *service) runDetached(call *run) {
	start := time.Now()
	v.handle(call, func(bool) {
		v.detached.Add(-1)
		if time.Since(start) < takeOverAfter/4 {
			v.markFast(call.call.Name)
		}
	})
	v.flush()
}

// handle runs a call's handler and queues the result. In between it calls done, which
// receives whether the handler has called [runtime.Goexit], so that handle's caller does
// not resume.
func (v *service) handle(call *run, done func(ends bool)) {
	returned := false
	defer func() {
		if !returned {
			done(true)
			call.streamed.Take()
			v.answer(call, tool.Result{}, tool.ExecutionError(call.call.Name, errors.New("the handler called runtime.Goexit")))
			v.forget(call)
			v.flush()
		}
	}()
	res, err := v.server.run(call, call.call, call.trace)
	if text := call.streamed.Take(); text != "" {
		res = tool.Streamed(text, res)
	}
	returned = true
	done(false)
	v.answer(call, res, err)
	v.forget(call)
}

// answer queues a call's result.
func (v *service) answer(call *run, res tool.Result, err error) {
	call.finished.Store(true)
	if call.canceled.Load() {
		res, err = tool.Result{}, context.Canceled
	}
	call.Cancel(nil)
	if call.asking != nil {
		call.asking.Cancel(nil)
	}
	out := newAnswer(&res, err)
	v.respond(call.number, &out)
	if call.canceled.Load() { // since the check above
		if found, _ := v.out.drop(call.number); found {
			v.answerCanceled(call.number)
		}
	}
}

// respond queues an answer, or an error in place of one that is too large.
func (v *service) respond(number uint32, out *answer) {
	if out.length() <= maxCopied {
		v.out.message(kindResult, number, out.appendTo)
		return
	}
	var parts [][]byte
	size := out.length()
	if size <= 2*MaxMessage { // else it is too large for certain, and what is not shared would be copied
		parts, size = out.parts()
	}
	if size > MaxMessage {
		*out = newAnswer(nil, tool.Errorf(tool.CodeResourceExhausted, "the result is larger than %d MiB", MaxMessage>>20).
			Try("ask for less at once"))
		parts, size = out.parts()
	}
	v.out.large(kindResult, number, nil, size, parts...)
}

// flush writes what is queued. It ignores errors: reading from a broken carrier soon
// fails too.
func (v *service) flush() { _ = v.out.flush() }

// Value implements [context.Context]. Handlers reach the host through it.
func (r *run) Value(key any) any {
	switch key.(type) {
	case callctx.Call:
		return &r.call
	case callctx.Stream:
		return &r.streamed
	case callctx.Deltas:
		return nil
	case callctx.Progress:
		if r.progress {
			return r.sendProgress
		}
		return nil
	case callctx.Log:
		return r.sendLog
	case callctx.Trace:
		if r.trace == (tool.Trace{}) {
			return nil
		}
		return &r.trace
	case callctx.Ask:
		if r.asks {
			return tool.Asker(r.ask)
		}
		return nil
	case callctx.Waits:
		if r.service.server.Waits {
			return r.waits
		}
		return nil
	}
	return r.Context.Value(key)
}

func (r *run) sendProgress(p tool.Progress) { r.send(kindProgress, appendProgress(nil, p)) }

func (r *run) sendLog(level slog.Level, message string) {
	r.send(kindLog, appendLog(nil, levelName(level), message))
}

// send sends a small frame about the call while its handler runs.
func (r *run) send(k kind, payload []byte) {
	// If the host does not read them, reports are dropped to bound the plugin's memory.
	if r.finished.Load() || len(payload) > maxFrame || r.service.out.full() {
		return
	}
	r.service.out.control(k, r.number, payload)
	r.service.flush()
}
