package wire

import (
	"context"
	"encoding/binary"
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"time"

	"github.com/toolhost/toolhost/internal/callctx"
	"github.com/toolhost/toolhost/internal/callstage"
	"github.com/toolhost/toolhost/internal/tracecontext"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// read reads until reading fails, if callers cannot take turns reading.
func (s *Stream) read() {
	for {
		if err := s.readFrame(); err != nil {
			s.fail(err)
			return
		}
	}
}

// readUntil reads for all callers until the caller's own call is finished or its context
// has ended. The caller holds the token, which readUntil releases.
func (s *Stream) readUntil(ctx context.Context, k *pending) {
	defer func() { <-s.readToken }()
	if ctx.Done() != nil {
		defer context.AfterFunc(ctx, s.interrupt)()
	}
	// Frames that are buffered completely are still handled, as the next reader may come
	// late, but readUntil does not wait for more.
	for !k.finished.Load() || s.in.ready() {
		err := s.readFrame()
		if s.in.interrupted(err) {
			if ctx.Err() != nil {
				return
			}
			continue
		}
		if err != nil {
			s.fail(err) // ends this call too
			return
		}
	}
}

// interrupt wakes the reader, so that it checks whether its call is finished.
func (s *Stream) interrupt() { _ = s.in.interrupt.SetReadDeadline(time.Unix(1, 0)) }

// idle reads while there are no calls. The first call interrupts it.
func (s *Stream) idle() {
	select {
	case s.readToken <- struct{}{}: // a returning caller may still hold it
	case <-s.failed:
		return
	}
	defer func() { <-s.readToken }()
	s.idling.Store(true)
	defer s.idling.Store(false)
	for s.awaited.Load() == 0 {
		if err := s.readFrame(); err != nil && !s.in.interrupted(err) {
			s.fail(err)
			return
		}
	}
}

// readFrame reads one frame and acts on it.
func (s *Stream) readFrame() error { return s.in.next(s.routePayload, s.handleFrame) }

// minChunk is the size, in bytes, below which a chunk is paced like a frame that carries
// no answer: well-behaved plugins send no such chunks, and each costs the host work.
const minChunk = 256

// routePayload chooses where a frame's payload goes.
func (s *Stream) routePayload(f frame) error {
	carries := f.kind == kindChunk || f.kind == kindDelta
	paced := f.kind != kindResult && !carries || carries && f.size < minChunk
	if s.hooks.Pace != nil && paced {
		s.hooks.Pace(headerSize + f.size)
	}
	if f.kind == kindResult || f.kind == kindChunk {
		return s.routeResult(f)
	}
	switch f.kind {
	case kindWindow, kindProgress, kindLog, kindAsk, kindDelta, kindWaits:
		s.in.readInto(make([]byte, f.size))
		s.small = s.in.dest
	case kindCall, kindCancel, kindAnswer, kindMore, kindEnded:
		return protocolError("a frame that only a host sends (kind %d)", f.kind)
	default: // no payload, or a kind of a later version
	}
	return nil
}

// handleFrame acts on a frame whose payload has been read.
func (s *Stream) handleFrame(f frame) error {
	switch f.kind {
	case kindResult, kindChunk:
		s.finishResult(f)
	case kindWindow:
		return s.window(f.number, s.small)
	case kindProgress:
		return s.progress(f.number, s.small)
	case kindLog:
		return s.log(f.number, s.small)
	case kindChanged:
		if s.hooks.Changed != nil {
			s.hooks.Changed()
		}
	case kindAsk:
		return s.ask(f.number, s.small)
	case kindDelta:
		return s.delta(f.number, s.small)
	case kindWaits:
		return s.waits(f.number, s.small)
	case kindCall, kindCancel, kindAnswer, kindMore, kindEnded:
	}
	return nil
}

// lookup reports whether a call is in the table, and whether its caller still waits.
func (s *Stream) lookup(number uint32) (found, awaited bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	k := s.calls[number]
	return k != nil, k != nil && !k.abandoned
}

// routeResult chooses where a result, or a part of one, goes.
func (s *Stream) routeResult(f frame) error {
	found, awaited := s.lookup(f.number)
	switch {
	case !found:
		return protocolError("an answer to a call that was not made or is answered already (number %d)", f.number)
	case !awaited:
		return s.in.discard(f)
	case f.kind == kindResult && s.in.messages[f.number] == nil && f.flags&flagFirst == 0:
		s.whole = make([]byte, f.size)
		s.in.readInto(s.whole)
		return nil
	}
	err := s.in.assemble(f)
	if err == errTooLarge { //nolint:errorlint // assemble returns it unwrapped
		if err := s.rejectTooLarge(f.number); err != nil {
			return err
		}
		return s.in.discard(f)
	}
	return err
}

// finishResult completes a call whose result has been read.
func (s *Stream) finishResult(f frame) {
	ascii := f.size // of a result in one frame, nothing was looked at
	if m := s.in.messages[f.number]; m != nil {
		m.look()
		ascii = m.ascii
	}
	if f.kind == kindChunk {
		s.in.consumed(f.number)
		return
	}
	delete(s.in.discarded, f.number)
	reply := s.in.close(f.number)
	if reply == nil {
		reply, s.whole = s.whole, nil
	}
	s.mu.Lock()
	k := s.remove(f.number) // nil: the stream has failed in the meantime
	large := k != nil && k.size > maxCopied
	if k != nil && !k.abandoned {
		k.ascii = ascii
		k.complete(reply, nil)
	}
	s.mu.Unlock()
	if len(s.in.messages) > 0 {
		runtime.Gosched() // the caller needs no other thread, which would have to wait for one that copies
	}
	if !large {
		return
	}
	if found, begun := s.out.drop(f.number); found && begun { // answered before the request was read
		s.out.control(kindCancel, f.number, nil)
		s.out.flushAsync()
	}
}

// rejectTooLarge completes a call whose result is too large, and cancels it in the plugin.
//
// # Errors
//
// rejectTooLarge returns [ErrProtocol] if the plugin has left too many such calls and
// abandoned ones unanswered.
func (s *Stream) rejectTooLarge(number uint32) error {
	s.mu.Lock()
	s.completeEarly(number, tool.Errorf(tool.CodeResourceExhausted,
		"the plugin's answer is larger than %d MiB", MaxMessage>>20).At(callstage.Execute).Try("ask for less at once"))
	tooMany := s.abandoned > maxAbandoned
	s.mu.Unlock()
	if tooMany {
		return protocolError("%d calls whose answers are too large are not finished", maxAbandoned)
	}
	s.cancelRemote(number)
	return nil
}

// completeEarly completes a call that the plugin has not answered. It replaces the call's
// entry in the table with a placeholder, because the entry may be reused for another
// call. The caller holds s.mu.
func (s *Stream) completeEarly(number uint32, err error) {
	k := s.calls[number]
	if k == nil || k.abandoned {
		return
	}
	s.calls[number] = &pending{abandoned: true, size: k.size}
	s.abandoned++
	s.awaited.Add(-1)
	k.complete(nil, err)
}

// window lets more of a call's arguments be sent.
func (s *Stream) window(number uint32, b []byte) error {
	if len(b) != 4 {
		return protocolError("a window of %d bytes", len(b))
	}
	if s.out.granted(number, int(min(binary.LittleEndian.Uint32(b), maxGrant))) {
		s.out.flushAsync()
	}
	return nil
}

// progress queues a report for the caller. If the caller does not keep up, progress drops
// the oldest report.
func (s *Stream) progress(number uint32, b []byte) error {
	p, err := parseProgress(b)
	if err != nil {
		return protocolError("a progress report that cannot be read: %v", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	k := s.calls[number]
	if k == nil || k.progress == nil || k.abandoned {
		return nil
	}
	for {
		select {
		case k.progress <- p:
			return nil
		default:
		}
		select {
		case <-k.progress:
		default:
		}
	}
}

// log passes a line of the plugin's log to the hook, unless there are too many.
func (s *Stream) log(number uint32, b []byte) error {
	s.mu.Lock()
	if now := time.Now(); now.Sub(s.logSince) >= time.Second {
		s.logSince, s.logs = now, 0
	}
	s.logs++
	n := s.logs
	var call, trace string
	var caller context.Context
	if k := s.calls[number]; k != nil {
		call, caller = k.id, k.caller
	}
	s.mu.Unlock()
	switch {
	case n < logRate:
		level, message, err := parseLog(b)
		if err != nil {
			return protocolError("a log record that cannot be read: %v", err)
		}
		if !slices.Contains(levels[:], level) {
			level = "info"
		}
		if caller != nil {
			trace = tracecontext.ID(tracecontext.Valid(tool.TraceFrom(caller)).Parent)
			if f, ok := caller.Value(callctx.Log{}).(func(slog.Level, string)); ok {
				f(levelOf(level), message)
			}
		}
		if s.hooks.Log != nil {
			s.hooks.Log(level, message, call, trace)
		}
	case n == logRate && s.hooks.Log != nil:
		s.hooks.Log("warn", fmt.Sprintf(
			"the plugin logs more than %d lines a second: the rest of this second's are dropped", logRate), "", "")
	}
	return nil
}
