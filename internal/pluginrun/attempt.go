package pluginrun

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/toolhost/toolhost/internal/remedy"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// attempt is one start that several callers may wait for.
type attempt struct {
	done   chan struct{}
	run    *instance
	err    error
	why    string             // it is wanted
	cancel context.CancelFunc // of a spare
}

// join joins the start that is under way, or begins one, or returns how long to wait
// before the next.
func (s *supervisor) join() (*attempt, time.Duration, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.reportLocked()
	if s.closed {
		return nil, 0, unavailable(s.name, nil, fmt.Sprintf("plugin %s is shut down", s.name),
			"the host is closing, or the plugin was removed")
	}
	if s.refused != nil {
		return nil, 0, unavailable(s.name, s.refused,
			fmt.Sprintf("plugin %s is refused: %s", s.name, tool.AsError(s.refused).Message),
			remedy.ShowPlugin.For(s.name))
	}
	if run := s.current.Load(); run != nil {
		a := &attempt{done: make(chan struct{}), run: run}
		close(a.done)
		return a, 0, nil
	}
	if s.starting == nil {
		pause, err := s.backoff.mayStart(time.Now(), s.name)
		if pause > 0 || err != nil {
			return nil, pause, err
		}
		s.begin()
	}
	return s.starting, 0, nil
}

// begin begins a start. The lock is held.
func (s *supervisor) begin() {
	a, spare := &attempt{done: make(chan struct{}), why: s.whyStart()}, s.spares.now
	s.starting, s.spares.now = a, nil
	s.starts++
	s.workers.Go(func() { s.start(a, spare) })
}

// whyStart says why a start is wanted. The lock is held.
func (s *supervisor) whyStart() string {
	switch last := s.newest; {
	case last == nil && s.cfg.Replaces:
		return "it takes the place of another"
	case last == nil:
		return "it is the first time"
	case last.why != "":
		return "the last one ended, as " + last.why
	}
	return "the last one crashed"
}

// start starts a run, or takes the spare.
func (s *supervisor) start(a, spare *attempt) {
	if a.run = s.takeSpare(spare); a.run != nil {
		a.why += ", and the spare took its place"
	} else if a.run, a.err = s.launch(s.life); a.run != nil {
		s.adopt(a.run)
	}
	changed, then := s.recordStart(a.run, a.err)
	close(a.done)
	if a.err != nil {
		if !errors.Is(a.err, ErrIncomplete) && s.life.Err() == nil {
			s.tell(startEvent(a.err), "plugin did not start", tool.AsError(a.err).Message)
			s.tellConsequence(then)
		}
		return
	}
	close(a.run.published)
	if s.cfg.Started != nil {
		s.cfg.Started()
	}
	if changed {
		s.notify()
	}
	s.tellStart(a.run, a.why)
	s.cfg.Logger.Debug("plugin started", "plugin", s.name, "pid", a.run.proc.id(), "took", a.run.took)
	if a.run.link.saysProblems() {
		s.background(func() { a.run.health.ask(a.run) })
	}
	a.run.idle.watch(s.cfg.IdleTimeout,
		func() bool { return a.run.calls.Running() > 0 || s.holds.Load() > 0 },
		func() { s.stopIdle(a.run) })
}

// recordStart records how a start ended, and lets calls go to the run. It reports whether
// the plugin describes itself differently from before, and what a failure leads to.
func (s *supervisor) recordStart(run *instance, err error) (changed bool, then consequence) {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.reportLocked()
	s.starting = nil
	s.startErr = err
	if err != nil {
		if s.life.Err() == nil && !errors.Is(err, errPinned) {
			now := time.Now()
			s.backoff.failed(now, tool.AsError(err).Message)
			then = s.backoff.consequence(now)
		}
		return false, then
	}
	changed = s.publish(run)
	s.newest = run
	if run.end == nil {
		s.current.Store(run)
		s.fillSpare()
	}
	if s.refused != nil {
		s.retire(run, "it was refused: "+tool.AsError(s.refused).Message)
	}
	return changed, then
}

// discard ends the process of a start, whose calls went elsewhere.
func (a *attempt) discard(ctx context.Context) {
	if a == nil {
		return
	}
	a.cancel()
	<-a.done
	if a.run != nil {
		a.run.calls.Refuse()
		a.run.stop(ctx)
	}
}
