package pluginrun

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/callctx"
	"github.com/toolhost/toolhost/internal/cgroup"
	"github.com/toolhost/toolhost/internal/deadline"
	"github.com/toolhost/toolhost/internal/journal"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// supervisor starts a plugin's process when a call needs one, knows which run calls go to,
// and records how each has ended.
type supervisor struct {
	name    string
	cfg     Config
	launch  func(context.Context) (*instance, error)
	publish func(*instance) (changed bool) // called before any call can be sent to the run
	notify  func()                         // called if what it describes has changed

	current atomic.Pointer[instance] // the run that calls go to, which has not ended; nil: none
	holds   atomic.Int64             // reasons to keep an idle run
	life    context.Context          // ends with the plugin
	endLife context.CancelFunc
	workers sync.WaitGroup // goroutines and processes that close waits for

	mu       sync.Mutex // never held while waiting
	closed   bool
	starting *attempt
	newest   *instance // the newest run, ended or not
	startErr error     // why the newest start failed
	refused  error     // why the host does not want the plugin; nil: it does
	starts   int
	crashes  int
	backoff  backoff
	spares   spares
	reported plugin.State // the last state that OnState was called with; empty: none
}

// ready returns a run that takes calls: the current one, or a new one.
func (s *supervisor) ready(ctx context.Context) (*instance, error) {
	if run := s.current.Load(); run != nil {
		return run, nil
	}
	var shook time.Duration
	if starts := callctx.Get[func() func(time.Duration)](ctx, callctx.Starts{}); starts != nil {
		ended := starts()
		defer func() { ended(shook) }()
	}
	for {
		if run := s.current.Load(); run != nil {
			return run, nil
		}
		a, pause, err := s.join()
		if err != nil {
			return nil, err
		}
		if pause > 0 {
			t := time.NewTimer(pause)
			select {
			case <-t.C:
				continue
			case <-ctx.Done():
			case <-s.life.Done():
				continue
			}
			t.Stop()
			return nil, s.notReady(ctx)
		}
		select {
		case <-a.done:
			if a.run != nil {
				shook = a.run.shook
			}
			return a.run, a.err
		case <-ctx.Done():
			return nil, s.notReady(ctx)
		}
	}
}

func (s *supervisor) notReady(ctx context.Context) error {
	e := unavailable(s.name, ctx.Err(), fmt.Sprintf("plugin %s was not ready in time: %v", s.name, deadline.Cause(ctx)), "")
	e.Code = tool.CodeOf(ctx.Err())
	return e
}

// adopt sees to the end of a run, in the goroutine that owns its process.
func (s *supervisor) adopt(run *instance) {
	run.health.changed = s.report
	s.workers.Add(1)
	stop := context.AfterFunc(s.life, run.proc.kill)
	run.proc.onEnd(func() { s.recordEnd(run) }, func() {
		defer s.workers.Done()
		s.tellEnd(run)
		stop()
		run.idle.stop()
		run.release()
		s.cfg.Logger.Debug("plugin ended", "plugin", s.name, "status", run.proc.exit)
	})
}

// recordEnd records that a run has ended. It is called once, by the goroutine that owns the
// process, before the end shows anywhere else.
func (s *supervisor) recordEnd(run *instance) {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.reportLocked()
	run.end = &runEnd{at: run.proc.exitTime, reason: run.proc.ending()}
	if run.spare {
		if a := s.spares.now; a != nil && a.run == run {
			s.loseSpare(run.end.at, run.end.at.Sub(run.since), "ended: "+run.end.reason)
		}
		return
	}
	served := s.current.CompareAndSwap(run, nil)
	well, why := time.Duration(0), ""
	if run.answered.Load() {
		well = run.end.at.Sub(run.since)
	}
	if run.crashed() {
		why = run.end.reason
	}
	s.backoff.ended(run.end.at, well, why)
	if why != "" {
		s.crashes++
		run.end.crashed, run.end.then = true, s.backoff.consequence(run.end.at)
	}
	if !served || s.spares.now == nil {
		return
	}
	if run.end.crashed && run.answered.Load() { // else it waits for a call: what crashes without one would go on for ever
		if pause, err := s.backoff.mayStart(run.end.at, s.name); pause == 0 && err == nil {
			s.begin()
			return
		}
	}
	s.dropSpare()
}

// background runs f in a goroutine that close waits for; false: the plugin is closed.
func (s *supervisor) background(f func()) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.workers.Go(f)
	}
	return !s.closed
}

// survivorPause is how long the host waits before it looks again for what a run has left; the
// pause doubles each time, up to a minute.
const survivorPause = time.Second

// outlast goes on with the sandbox of a run that has ended, and ends what it can find of it, until
// nothing of it is left or the plugin is closed. What is left costs the host a descriptor, a look each
// minute, and the refusals that any process may have.
func (s *supervisor) outlast(p *process) {
	look := func() {
		defer p.box.shut()
		s.tell(journal.Survived, "a process of the plugin lives on", "its run has ended, and it could not be ended with that; "+
			"it is refused what its sandbox refuses, and looked for again", "ran as", p.forked.Load())
		for pause := survivorPause; !p.box.isEmpty(s.life, pause); pause = min(2*pause, time.Minute) {
			p.cmd.group.End()
		}
	}
	if !s.background(look) {
		p.box.shut()
	}
}

func (s *supervisor) isCurrent(run *instance) bool { return s.current.Load() == run }

func (s *supervisor) isClosed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closed
}

// hold keeps the run from being stopped for idleness until release is called.
func (s *supervisor) hold() (release func()) {
	s.holds.Add(1)
	return sync.OnceFunc(func() { s.holds.Add(-1) })
}

// detach sends no more calls to a run, which is to end, and reports whether it was the one they went to.
// The lock is held.
func (s *supervisor) detach(run *instance, why string) bool {
	if run == nil || !s.current.CompareAndSwap(run, nil) {
		return false
	}
	run.why = why
	run.calls.Refuse()
	s.dropSpare()
	return true
}

// stop ends a run that was detached: its calls may end first, within the drain timeout.
func (s *supervisor) stop(ctx context.Context, run *instance) {
	drain, cancel := context.WithTimeout(ctx, s.cfg.DrainTimeout)
	defer cancel()
	run.calls.Wait(drain)
	run.stop(ctx)
}

// retire ends the run in the background. The lock is held.
func (s *supervisor) retire(run *instance, why string) {
	if !s.closed && s.detach(run, why) {
		s.workers.Go(func() { s.stop(s.life, run) })
	}
}

// renewTime is how long the calls of a run that is renewed may take to end.
const renewTime = 5 * time.Minute

// renew ends a run when its calls have ended. The next call starts another.
func (s *supervisor) renew(run *instance) {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.reportLocked()
	if s.closed || !s.detach(run, "it was renewed") {
		return
	}
	s.workers.Go(func() {
		ctx, cancel := context.WithTimeout(s.life, renewTime)
		defer cancel()
		run.calls.Wait(ctx)
		run.stop(s.life)
	})
}

// stopIdle ends a run that is not used. The next call starts another.
func (s *supervisor) stopIdle(run *instance) {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.reportLocked()
	if !s.closed && s.isCurrent(run) {
		run.idle.expired.Store(true)
		s.retire(run, fmt.Sprintf("it was idle for %v", s.cfg.IdleTimeout))
	}
}

// refuse ends the run and starts no other; nil: the plugin may run again.
func (s *supervisor) refuse(why error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.reportLocked()
	s.refused = why
	if why != nil {
		s.retire(s.current.Load(), "it was refused: "+tool.AsError(why).Message)
	}
}

// restart ends the run, when its calls have ended or the drain timeout has, and forgets the
// plugin's failures and, if it was refused, what it said.
func (s *supervisor) restart(ctx context.Context, forget func()) error {
	s.mu.Lock()
	if s.refused != nil {
		forget()
	}
	s.refused, s.startErr = nil, nil
	s.backoff.reset()
	s.spares.backoff.reset()
	run := s.current.Load()
	detached := s.detach(run, "it was restarted")
	s.reportLocked()
	s.mu.Unlock()
	if !detached {
		return nil
	}
	s.stop(ctx, run)
	return ctx.Err()
}

// close ends the run when its calls have ended, or drain has, and waits for all that the
// plugin started. It reports whether this is the first call.
func (s *supervisor) close(ctx, drain context.Context) (first bool) {
	s.mu.Lock()
	first = !s.closed
	s.closed = true
	spare := s.spares.now
	s.spares.now = nil
	if s.spares.timer != nil {
		s.spares.timer.Stop()
	}
	run := s.current.Load()
	detached := s.detach(run, "the host ends, or it was removed or replaced")
	s.reportLocked()
	s.mu.Unlock()
	var ended sync.WaitGroup
	ended.Go(func() { spare.discard(ctx) })
	if detached {
		run.calls.Wait(drain)
		run.stop(ctx)
	}
	ended.Wait()
	if first {
		s.endLife() // and with it a start under way
	}
	s.workers.Wait()
	return first
}

// group returns the control group of the newest run; nil: there was no process yet.
func (s *supervisor) group() *cgroup.Group {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.newest == nil {
		return nil
	}
	return s.newest.proc.cmd.control
}
