package wire

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"time"

	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// read reads until reading fails, where callers cannot take turns at it.
func (s *Stream) read() {
	for {
		if err := s.one(); err != nil {
			s.fail(err)
			return
		}
	}
}

// readUntil reads, for all callers, until the caller's own call is over or its
// context has ended. It holds the token.
func (s *Stream) readUntil(ctx context.Context, k *pending) {
	defer func() { <-s.lead }()
	if ctx.Done() != nil {
		defer context.AfterFunc(ctx, s.interrupt)()
	}
	// What has come whole is handed out on the way: nobody else may read soon. More
	// is not waited for.
	for !k.over.Load() || s.in.ready() {
		err := s.one()
		if s.in.interrupted(err) {
			if ctx.Err() != nil {
				return
			}
			continue
		}
		if err != nil {
			s.fail(err) // which ends this call too
			return
		}
	}
}

// interrupt wakes who reads, to see whether its call is over.
func (s *Stream) interrupt() { _ = s.in.interrupt.SetReadDeadline(time.Unix(1, 0)) }

// idle reads while there are no calls. The first call interrupts it.
func (s *Stream) idle() {
	select {
	case s.lead <- struct{}{}: // a caller on its way out may hold it for a moment
	case <-s.down:
		return
	}
	defer func() { <-s.lead }()
	s.idling.Store(true)
	defer s.idling.Store(false)
	for s.under.Load() == 0 {
		if err := s.one(); err != nil && !s.in.interrupted(err) {
			s.fail(err)
			return
		}
	}
}

// one reads a frame and does what it says.
func (s *Stream) one() error { return s.in.next(s.begin, s.end) }

// smallChunk is below which size, in bytes, a chunk is not an honest part of a message but
// work for the host: it is paced as what answers nothing is.
const smallChunk = 256

// begin says where a frame's payload goes.
func (s *Stream) begin(f frame) error {
	if s.hooks.Pace != nil && (f.kind != kindResult && f.kind != kindChunk || f.kind == kindChunk && f.size < smallChunk) {
		s.hooks.Pace(headerSize + f.size)
	}
	if f.kind == kindResult || f.kind == kindChunk {
		return s.beginResult(f)
	}
	switch f.kind {
	case kindWindow, kindProgress, kindLog:
		s.in.into(make([]byte, f.size))
		s.small = s.in.to
	case kindCall, kindCancel, kindAnswer:
		return protocolError("a frame that only a host sends (kind %d)", f.kind)
	default: // no payload, nobody can answer yet, or a kind to come
	}
	return nil
}

// end does what a frame says whose payload has come.
func (s *Stream) end(f frame) error {
	switch f.kind {
	case kindResult, kindChunk:
		s.endResult(f)
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
	case kindCall, kindCancel, kindAsk, kindAnswer:
	}
	return nil
}

// waited reports whether a call was made and not answered, and whether somebody
// waits for its answer.
func (s *Stream) waited(number uint32) (made, somebody bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	k := s.calls[number]
	return k != nil, k != nil && !k.nobody
}

// beginResult says where a result, or a part of one, goes.
func (s *Stream) beginResult(f frame) error {
	made, somebody := s.waited(f.number)
	switch {
	case !made:
		return protocolError("an answer to a call that was not made or is answered already (number %d)", f.number)
	case !somebody:
		return s.in.waste(f)
	case f.kind == kindResult && s.in.messages[f.number] == nil && f.flags&flagFirst == 0:
		s.whole = make([]byte, f.size)
		s.in.into(s.whole)
		return nil
	}
	err := s.in.part(f)
	if err == errTooLarge { //nolint:errorlint // it is returned as it is
		if err := s.refuse(f.number); err != nil {
			return err
		}
		return s.in.waste(f)
	}
	return err
}

// endResult hands on a result that is there.
func (s *Stream) endResult(f frame) {
	if f.kind == kindChunk {
		s.in.taken(f.number)
		return
	}
	delete(s.in.wasted, f.number)
	reply := s.in.close(f.number)
	if reply == nil {
		reply, s.whole = s.whole, nil
	}
	s.mu.Lock()
	k := s.answered(f.number) // nil: the stream has failed meanwhile
	large := k != nil && k.size > copied
	if k != nil && !k.nobody {
		k.end(reply, nil)
	}
	s.mu.Unlock()
	if !large {
		return
	}
	if found, begun := s.out.drop(f.number); found && begun { // it was answered before it was read
		s.out.control(kindCancel, f.number, nil)
		s.out.flushAsync()
	}
}

// refuse ends a call whose result is too large, and lets the plugin know.
//
// # Errors
//
// [ErrProtocol] where too many such calls, and others that nobody waits for, were left
// without an end.
func (s *Stream) refuse(number uint32) error {
	s.mu.Lock()
	s.release(number, &tool.Error{
		Code: tool.CodeResourceExhausted, Stage: tool.StageExecute,
		Message: fmt.Sprintf("the plugin's answer is larger than %d MiB", MaxMessage>>20), Hint: "ask for less at once",
	})
	tooMany := s.given > unanswered
	s.mu.Unlock()
	if tooMany {
		return protocolError("%d calls with answers that are too large are not ended", unanswered)
	}
	s.giveUp(number)
	return nil
}

// release ends a call that the plugin still owes an answer to. Its own entry may
// be given to another call, so a placeholder takes its place. The stream's lock
// is held.
func (s *Stream) release(number uint32, err error) {
	k := s.calls[number]
	if k == nil || k.nobody {
		return
	}
	s.calls[number] = &pending{nobody: true, size: k.size}
	s.given++
	s.under.Add(-1)
	k.end(nil, err)
}

// window lets more of a call's arguments go.
func (s *Stream) window(number uint32, b []byte) error {
	if len(b) != 4 {
		return protocolError("a window of %d bytes", len(b))
	}
	if s.out.granted(number, int(min(binary.LittleEndian.Uint32(b), maxGrant))) {
		s.out.flushAsync()
	}
	return nil
}

// progress hands a report to the caller. Where one does not keep up, the oldest
// goes.
func (s *Stream) progress(number uint32, b []byte) error {
	p, err := parseProgress(b)
	if err != nil {
		return protocolError("a progress report that cannot be read: %v", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	k := s.calls[number]
	if k == nil || k.progress == nil || k.nobody {
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

// log hands on a line of the plugin's, unless there are too many.
func (s *Stream) log(number uint32, b []byte) error {
	if s.hooks.Log == nil {
		return nil
	}
	s.mu.Lock()
	if now := time.Now(); now.Sub(s.logSince) >= time.Second {
		s.logSince, s.logs = now, 0
	}
	s.logs++
	n := s.logs
	var call string
	if k := s.calls[number]; k != nil {
		call = k.id
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
		s.hooks.Log(level, message, call)
	case n == logRate:
		s.hooks.Log("warn", fmt.Sprintf("the plugin logs more than %d lines a second: the rest of this second's are dropped", logRate), "")
	}
	return nil
}
