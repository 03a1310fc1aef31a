package wire

import (
	"context"
	"time"
)

// startInline records that the reader runs a call and reports whether it may: a call of
// a tool that was slow the last time runs in a separate goroutine.
func (v *service) startInline(call *run) bool {
	v.mu.Lock()
	if v.slow[call.call.Name] {
		v.detach(call)
		v.mu.Unlock()
		return false
	}
	v.current = call
	v.started++
	start := !v.watching
	v.watching = true
	v.mu.Unlock()
	if start {
		go v.watch()
	}
	return true
}

// detach adds a call to the table of those that run outside the reader. The caller holds
// v.mu.
func (v *service) detach(call *run) {
	call.detached = true
	v.runs[call.number] = call
	v.detached.Add(1)
}

// markFast records that a tool is no longer slow.
func (v *service) markFast(tool string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	delete(v.slow, tool)
}

// finishInline records that the handler of a loop's call has returned, and reports
// whether the loop is still the reader. If its goroutine is about to exit, finishInline
// starts another loop as the reader.
func (v *service) finishInline(reader int, ends bool) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.reader != reader {
		v.detached.Add(-1)
		return false
	}
	v.current = nil
	if ends {
		v.reader++
		go v.loop(v.reader)
	}
	return !ends
}

// forget removes a detached call from the table, so that it can no longer be canceled.
// Its result must be queued by then, so that a cancel finds either the call or the
// result.
func (v *service) forget(call *run) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if call.detached && v.runs[call.number] == call {
		delete(v.runs, call.number)
	}
}

// maxIdleChecks is the number of checks without calls after which watch returns. The
// next call starts it again.
const maxIdleChecks = 100

// watch starts a new reader whenever a handler blocks the current one. It returns when
// there have been no calls for a while.
func (v *service) watch() {
	var seen uint64
	for idle := 0; ; {
		time.Sleep(takeOverAfter)
		v.mu.Lock()
		switch {
		case v.started != seen:
			seen, idle = v.started, 0
		case v.current != nil:
			v.takeOver()
		default:
			idle++
		}
		if idle == maxIdleChecks || v.base.Err() != nil {
			v.watching = false
			v.mu.Unlock()
			return
		}
		v.mu.Unlock()
	}
}

// takeOver starts another reader in place of one that is running a handler. The caller
// holds v.mu.
func (v *service) takeOver() {
	call := v.current
	v.current = nil
	v.detach(call)
	if len(v.slow) < maxNames {
		v.slow[call.call.Name] = true
	}
	v.reader++
	go v.loop(v.reader)
}

// cancel cancels a call while its request is being received, its handler is running or
// its result is being sent. The host expects a result frame in each case. A call in none
// of these states has been answered already.
func (v *service) cancel(number uint32) {
	if v.in.close(number) != nil {
		v.answerCanceled(number)
		return
	}
	v.mu.Lock()
	call := v.runs[number]
	v.mu.Unlock()
	if call != nil {
		call.canceled.Store(true)
		call.Cancel(context.Canceled)
	}
	if found, _ := v.out.drop(number); found {
		v.answerCanceled(number)
	}
}

// answerCanceled sends the answer of a call that was canceled.
func (v *service) answerCanceled(number uint32) {
	out := newAnswer(nil, context.Canceled)
	v.respond(number, &out)
}
