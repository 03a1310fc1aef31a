package wire

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/toolhost/toolhost/internal/callctx"
	"github.com/toolhost/toolhost/internal/deadline"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Serve answers the calls that come on a carrier until that ends, and closes it.
// Handlers' contexts end with ctx and with the carrier.
//
// # Errors
//
// Why reading failed; nil: the host closed the carrier.
func (s *Server) Serve(ctx context.Context, c Carrier) error {
	base, cancel := context.WithCancel(ctx)
	v := &service{server: s, base: base, runs: map[uint32]*run{}, slow: map[string]bool{}, names: map[string]string{}, done: make(chan error, 1)}
	v.out = newOutbox(c, func() bool { return v.side.Load() > 1 }, func(error) {})
	v.in = newInbox(c, func(number uint32, bytes int) {
		v.out.grant(number, bytes)
		v.out.flushAsync()
	})
	defer s.tellChanges(v)()
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

// service answers the calls of one carrier. The goroutine that reads runs the
// handlers itself, one after the other, so that a quick call costs no goroutine
// and no growing of its stack. A handler that takes longer than handover loses
// the reading to another goroutine and holds nobody up; the next call of its tool
// gets a goroutine at once.
type service struct {
	server *Server
	base   context.Context // ends with the carrier
	out    *outbox
	in     *inbox
	small  []byte       // the payload that is being read, where it comes in one frame
	side   atomic.Int32 // handlers that run beside the reader
	done   chan error   // why reading failed

	mu       sync.Mutex
	reader   int             // which loop reads
	current  *run            // what the reader runs; nil: it reads
	begun    uint64          // runs so far
	watching bool            // a goroutine looks for handlers that take long
	runs     map[uint32]*run // those that do not have the reading
	slow     map[string]bool // tools that took long the last time
	names    map[string]string
}

// run is one call's.
type run struct {
	deadline.Context
	service  *service
	call     tool.Call
	number   uint32
	progress bool
	apart    bool        // it is in the table of runs
	over     atomic.Bool // nothing more is sent of it
	unwanted atomic.Bool // nobody waits for its result
}

// handover is after which time a handler loses the reading; up to twice as much,
// as a goroutine looks that often. A timer for each call would wake a thread each
// time.
const handover = 500 * time.Microsecond

// loop reads and runs calls as long as it is the one that reads.
func (v *service) loop(reader int) {
	for {
		if !v.in.ready() {
			v.flush() // and only then wait
		}
		var call *run
		err := v.in.next(v.begin, func(f frame) (err error) {
			call, err = v.end(f)
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

// begin says where a frame's payload goes.
func (v *service) begin(f frame) error {
	switch f.kind {
	case kindChunk:
		return v.in.part(f)
	case kindCall:
		if v.in.messages[f.number] != nil {
			return v.in.part(f)
		}
	case kindWindow:
	default: // no payload, or a kind to come
		return nil
	}
	v.small = make([]byte, f.size)
	v.in.into(v.small)
	return nil
}

// end does what a frame says, or returns the call that it makes.
func (v *service) end(f frame) (*run, error) {
	switch f.kind {
	case kindCall:
		payload := v.in.close(f.number)
		if payload == nil {
			payload = v.small
		}
		req, err := parseRequest(payload, v.intern)
		if err != nil {
			return nil, err
		}
		var at time.Time
		if req.timeout > 0 {
			at = time.Now().Add(req.timeout)
		}
		call := &run{service: v, call: req.call, number: f.number, progress: req.progress}
		call.Init(v.base, at, nil)
		return call, nil
	case kindChunk:
		v.in.taken(f.number)
	case kindCancel:
		v.cancel(f.number)
	case kindWindow:
		if len(v.small) != 4 {
			return nil, protocolError("a window of %d bytes", len(v.small))
		}
		if v.out.granted(f.number, int(min(binary.LittleEndian.Uint32(v.small), maxGrant))) {
			v.flush()
		}
	default:
	}
	return nil, nil
}

// maxNames bounds the names that are remembered, and their length.
const maxNames = 4096

// intern gives the string for a tool's name or a session's ID, which come again
// and again.
func (v *service) intern(b []byte) string {
	if s, ok := v.names[string(b)]; ok {
		return s
	}
	if len(v.names) == maxNames {
		clear(v.names)
	}
	s := string(b)
	if len(s) <= tool.MaxNameLength {
		v.names[s] = s
	}
	return s
}

// run runs a call, and reports whether this loop still reads.
func (v *service) run(reader int, call *run) (reads bool) {
	if !v.enter(call) {
		go v.aside(call)
		return true
	}
	v.handle(call, func(ends bool) {
		reads = v.leave(reader, ends)
	})
	if !reads {
		v.flush()
	}
	return reads
}

// aside runs a call of a tool that took long the last time.
func (v *service) aside(call *run) {
	begin := time.Now()
	v.handle(call, func(bool) {
		v.side.Add(-1)
		if time.Since(begin) < handover/4 {
			v.noteQuick(call.call.Name)
		}
	})
	v.flush()
}

// handle runs a call's handler and queues the result. Done is called in between, and
// told whether the handler has ended its goroutine, and with it whoever called.
func (v *service) handle(call *run, done func(ends bool)) {
	returned := false
	defer func() {
		if !returned {
			done(true)
			v.answer(call, tool.Result{}, tool.ExecutionError(call.call.Name, errors.New("the handler called runtime.Goexit")))
			v.forget(call)
			v.flush()
		}
	}()
	res, err := v.server.Provider.Execute(call, call.call)
	returned = true
	done(false)
	v.answer(call, res, err)
	v.forget(call)
}

// answer queues a call's result.
func (v *service) answer(call *run, res tool.Result, err error) {
	call.over.Store(true)
	if call.unwanted.Load() {
		res, err = tool.Result{}, context.Canceled
	}
	call.Cancel(nil)
	out := settle(&res, err)
	if out.size() > MaxMessage {
		out = settle(nil, &tool.Error{
			Code: tool.CodeResourceExhausted, Message: fmt.Sprintf("the result is larger than %d MiB", MaxMessage>>20), Hint: "ask for less at once",
		})
	}
	v.respond(call.number, &out)
	if call.unwanted.Load() { // since it was looked at
		if found, _ := v.out.drop(call.number); found {
			v.giveUp(call.number)
		}
	}
}

// respond queues an answer.
func (v *service) respond(number uint32, out *answer) {
	if size := out.size(); size <= copied {
		v.out.message(kindResult, number, size, out.appendTo)
	} else {
		v.out.large(kindResult, number, size, out.pieces()...)
	}
}

// flush writes what is queued. A carrier that cannot be written to cannot be read
// from either, for long.
func (v *service) flush() { _ = v.out.flush() }

// Value implements [context.Context]: handlers reach the host through it.
func (r *run) Value(key any) any {
	switch key.(type) {
	case callctx.Call:
		return &r.call
	case callctx.Progress:
		if r.progress {
			return r.sendProgress
		}
		return nil
	case callctx.Log:
		return r.sendLog
	}
	return r.Context.Value(key)
}

func (r *run) sendProgress(p tool.Progress) { r.send(kindProgress, appendProgress(nil, p)) }

func (r *run) sendLog(level slog.Level, message string) {
	r.send(kindLog, appendLog(nil, levelName(level), message))
}

// send sends a small frame about the call, as long as it runs.
func (r *run) send(k kind, payload []byte) {
	// A plugin loses reports rather than its memory where they are not read.
	if r.over.Load() || len(payload) > maxFrame || r.service.out.full() {
		return
	}
	r.service.out.control(k, r.number, payload)
	r.service.flush()
}
