package pluginrun

import (
	"cmp"
	"context"
	"io/fs"
	"os"
	"reflect"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/journal"
	"github.com/toolhost/toolhost/internal/sanitize"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// spareDelay is how long after a start a spare is made: the call that needed the start goes first, and a
// host that ends with it makes none.
const spareDelay = 50 * time.Millisecond

// spares keep one process of a plugin warm, next to the one that serves: it has shaken hands, described
// itself and been configured, and was never called. It takes the place of one that crashes. It ends with
// the one that serves, if that ends in another way: so nothing runs of a plugin that does not serve. It is
// guarded by the supervisor's lock.
type spares struct {
	now     *attempt // warm, or being started; nil: there is none
	backoff backoff  // of processes that did not last as spares
	timer   *time.Timer

	launch func(context.Context) (*instance, error)
	// stands reports whether a process that was started now would be as the spare is.
	stands func(*instance) bool
}

// origin is what decides how a process is started, besides the settings.
type origin struct {
	kept, sum string      // see [Config.Kept]
	file      fs.FileInfo // nil: it cannot be found
	given     tool.Needs
	protected []string
	env       []string
}

func (c Config) origin(of plugin.Candidate) (o origin) {
	o.given, o.env = c.given(), c.environment()
	if c.Kept != nil {
		o.kept, o.sum = c.Kept()
	}
	if c.Protected != nil {
		o.protected = c.Protected()
	}
	o.file, _ = os.Stat(cmp.Or(o.kept, of.Binary()))
	return o
}

// is reports whether both are known and the same.
func (o origin) is(other origin) bool {
	if o.file == nil || other.file == nil || !os.SameFile(o.file, other.file) ||
		o.file.Size() != other.file.Size() || !o.file.ModTime().Equal(other.file.ModTime()) {
		return false
	}
	o.file, other.file = nil, nil
	return reflect.DeepEqual(o, other)
}

// launchSpare starts a process that is not called yet.
func (p *Plugin) launchSpare(ctx context.Context) (*instance, error) {
	cfg := p.declared()
	cfg.spare = true
	from := cfg.origin(p.candidate)
	run, err := launch(ctx, cfg, p.prepare, &p.fault, p.notifier.onChanged)
	if err == nil {
		run.origin, run.spare = from, true
	}
	return run, err
}

// stands asks all that is asked before a start.
func (p *Plugin) stands(run *instance) bool {
	cfg, proc := p.declared(), run.proc
	if cfg.Admit != nil && cfg.Admit(false) != nil || cfg.checkWrites() != nil || !run.origin.is(cfg.origin(p.candidate)) {
		return false
	}
	if proc.cmd.judge != nil && proc.cmd.plan != nil && proc.cmd.judge(proc.cmd.plan.Report) != nil {
		return false
	}
	pins, err := cfg.pins(p.Name())
	copied := proc.cmd.copied
	switch {
	case err != nil, (pins == nil) != (copied == nil || copied.pins == nil):
		return false
	case pins == nil:
		return true
	}
	return pins.Binary(p.Name(), copied.file.SHA256) == nil && pins.Described(p.Name(), copied.file.SHA256, run.about) == nil
}

// fillSpare sees to it that there is a spare soon, if one serves. The lock is held.
func (s *supervisor) fillSpare() {
	if s.cfg.Spare <= 0 || s.closed {
		return
	}
	wait := max(spareDelay, time.Until(s.spares.backoff.until))
	if s.spares.timer == nil {
		s.spares.timer = time.AfterFunc(wait, s.startSpare)
	} else {
		s.spares.timer.Reset(wait)
	}
}

func (s *supervisor) startSpare() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.refused != nil || s.spares.now != nil || s.current.Load() == nil {
		return
	}
	ctx, cancel := context.WithCancel(s.life)
	a := &attempt{done: make(chan struct{}), cancel: cancel}
	s.spares.now = a
	s.workers.Go(func() {
		defer close(a.done)
		defer cancel()
		run, err := s.spares.launch(ctx)
		if err == nil {
			s.adopt(run)
			s.tellStart(run, "it is a spare")
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		switch a.run = run; {
		case s.spares.now != a: // it was taken, or is not wanted any more
		case err != nil:
			s.loseSpare(time.Now(), 0, "did not start: "+tool.AsError(err).Message)
		case run.end != nil:
			s.loseSpare(run.end.at, 0, "ended: "+run.end.reason)
		}
	})
}

// loseSpare records that the spare has ended by itself, or did not start, which does not count as a crash of
// the plugin. The lock is held.
func (s *supervisor) loseSpare(at time.Time, well time.Duration, why string) {
	s.spares.now = nil
	s.spares.backoff.ended(at, well, why)
	what := "the plugin's spare process " + sanitize.Line(why, 1000)
	s.cfg.Logger.Warn(what, "plugin", s.name)
	s.cfg.Journal.Tell(hclog.Warn.String(), journal.Ended, what)
	s.fillSpare()
}

// takeSpare returns the process of a spare, to serve; nil: there is none, or it is not as one would be that
// was started now.
func (s *supervisor) takeSpare(a *attempt) *instance {
	if a == nil {
		return nil
	}
	<-a.done
	run := a.run
	if run == nil {
		return nil
	}
	if !s.spares.stands(run) {
		s.workers.Go(func() { a.discard(s.life) })
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if run.end != nil {
		return nil
	}
	now := time.Now()
	s.spares.backoff.ended(now, now.Sub(run.since), "")
	run.spare, run.since = false, now
	return run
}

// dropSpare ends the spare, in the background. The lock is held.
func (s *supervisor) dropSpare() {
	if a := s.spares.now; a != nil && !s.closed {
		s.spares.now = nil
		s.workers.Go(func() { a.discard(s.life) })
	}
}

// spare returns the number of the process that is kept warm; 0: there is none, or it is being started. The
// lock is held.
func (s *supervisor) spare() int {
	if a := s.spares.now; a != nil && a.run != nil {
		return a.run.proc.number()
	}
	return 0
}
