package plugin

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"
)

// looks is how often a run is looked at in each [Config.IdleTimeout]. One that was not
// used at so many looks in a row is at rest. Looking costs a call less than reading
// the clock: a call leaves a mark, if there is none.
const looks = 4

// rest is what is known of a run's use.
type rest struct {
	used  atomic.Bool // since the last look
	quiet int         // looks in a row that found nothing; the timer's own
	over  atomic.Bool // it was ended for it
	timer atomic.Pointer[time.Timer]
}

// use marks the run as used.
func (r *rest) use() {
	if !r.used.Load() {
		r.used.Store(true)
	}
}

// stop lets nobody look again.
func (r *rest) stop() {
	if t := r.timer.Load(); t != nil {
		t.Stop()
	}
}

// Hold keeps the plugin from being stopped for idleness, until the function that it
// returns is called: somebody's state is in its process.
func (p *Plugin) Hold() (release func()) {
	p.holds.Add(1)
	var once atomic.Bool
	return func() {
		if !once.Swap(true) {
			p.holds.Add(-1)
		}
	}
}

// watchRest ends the run when nobody has used it for the idle timeout.
func (p *Plugin) watchRest(run *instance) {
	if p.cfg.IdleTimeout <= 0 {
		return
	}
	pause := max(p.cfg.IdleTimeout/looks, time.Millisecond)
	run.rest.use() // somebody started it
	var t *time.Timer
	t = time.AfterFunc(1<<62, func() {
		if run.rest.used.Swap(false) || run.calls.n.Load() > 0 || p.holds.Load() > 0 {
			run.rest.quiet = 0
		} else if run.rest.quiet++; run.rest.quiet >= looks {
			p.putToRest(run)
			return
		}
		t.Reset(pause)
	})
	run.rest.timer.Store(t)
	t.Reset(pause)
}

// putToRest ends a run. The next call starts another.
func (p *Plugin) putToRest(run *instance) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || !p.current.CompareAndSwap(run, nil) {
		return
	}
	run.rest.over.Store(true)
	run.wanted.Store(true)
	p.owners.Go(func() {
		// A call may have come in the last moment: it may end.
		drain, cancel := context.WithTimeout(p.life, p.cfg.DrainTimeout)
		defer cancel()
		run.calls.drain(drain)
		run.stop(p.life)
	})
}

// rested is why a run ended that was not used.
func (p *Plugin) rested() string {
	return fmt.Sprintf("stopped, as nobody used it for %v", p.cfg.IdleTimeout)
}
