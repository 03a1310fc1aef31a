package wire

import (
	"context"
	"time"
)

// enter notes that the reader runs a call now, and reports whether it should: a
// tool that took long the last time runs beside it.
func (v *service) enter(call *run) bool {
	v.mu.Lock()
	if v.slow[call.call.Name] {
		v.setApart(call)
		v.mu.Unlock()
		return false
	}
	v.current = call
	v.begun++
	start := !v.watching
	v.watching = true
	v.mu.Unlock()
	if start {
		go v.watch()
	}
	return true
}

// setApart puts a call into the table of those that run beside the reader. The
// service's lock is held.
func (v *service) setApart(call *run) {
	call.apart = true
	v.runs[call.number] = call
	v.side.Add(1)
}

// noteQuick notes that a tool does not take long any more.
func (v *service) noteQuick(tool string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	delete(v.slow, tool)
}

// leave notes that the handler of a loop's call has returned, and reports whether
// the loop still reads. A loop that ends gives the reading to another.
func (v *service) leave(reader int, ends bool) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.reader != reader {
		v.side.Add(-1)
		return false
	}
	v.current = nil
	if ends {
		v.reader++
		go v.loop(v.reader)
	}
	return !ends
}

// forget ends the time in which a call that ran beside the reader can be cancelled.
// Its result is queued by then, so that a cancel finds the one or the other.
func (v *service) forget(call *run) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if call.apart && v.runs[call.number] == call {
		delete(v.runs, call.number)
	}
}

// restful is how many looks at nothing end the watch. The next call starts it
// again.
const restful = 100

// watch takes the reading from handlers that keep it, until there were no calls
// for a while.
func (v *service) watch() {
	var seen uint64
	for idle := 0; ; {
		time.Sleep(handover)
		v.mu.Lock()
		switch {
		case v.begun != seen:
			seen, idle = v.begun, 0
		case v.current != nil:
			v.takeOver()
		default:
			idle++
		}
		if idle == restful || v.base.Err() != nil {
			v.watching = false
			v.mu.Unlock()
			return
		}
		v.mu.Unlock()
	}
}

// takeOver lets another goroutine read in the stead of one that is in a handler.
// The service's lock is held.
func (v *service) takeOver() {
	call := v.current
	v.current = nil
	v.setApart(call)
	if len(v.slow) < maxNames {
		v.slow[call.call.Name] = true
	}
	v.reader++
	go v.loop(v.reader)
}

// cancel gives up a call, wherever it is: on its way in, in its handler, or its
// result on the way out. The host waits for a result frame in each case. A call
// that is in none of these places is answered.
func (v *service) cancel(number uint32) {
	if v.in.close(number) != nil {
		v.giveUp(number)
		return
	}
	v.mu.Lock()
	call := v.runs[number]
	v.mu.Unlock()
	if call != nil {
		call.unwanted.Store(true)
		call.Cancel(context.Canceled)
	}
	if found, _ := v.out.drop(number); found {
		v.giveUp(number)
	}
}

// giveUp answers a call that was cancelled.
func (v *service) giveUp(number uint32) {
	out := settle(nil, context.Canceled)
	v.respond(number, &out)
}
