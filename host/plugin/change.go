package plugin

import (
	"context"
	"time"
)

// ask lets a run that said that its tools have changed say how.
func (p *Plugin) ask(run *instance) {
	if run.asked.Swap(true) {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed { // Close waits for those who began before, and for none that come later
		return
	}
	p.owners.Go(func() {
		if !run.await(p.life, run.changes.Reserve().Delay()) {
			return
		}
		run.asked.Store(false) // what it says from now on is another change
		p.describe(run)
	})
}

// How often a plugin that says that its tools have changed is asked which they are.
// Each time costs the host a new registry: one that says so without end, and has
// others each time, is asked at this pace.
const (
	changePause = 250 * time.Millisecond
	freeChanges = 5
)

// await waits for a while, and reports whether the run is still of use.
func (in *instance) await(life context.Context, d time.Duration) bool {
	if d <= 0 {
		return true
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-in.proc.exited:
	case <-life.Done():
	}
	return false
}

// describe asks a run for its tools.
func (p *Plugin) describe(run *instance) {
	ctx, cancel := context.WithTimeout(p.life, p.cfg.StartTimeout)
	defer cancel()
	about, err := run.wire.Describe(ctx, p.cfg.HostVersion)
	if err != nil {
		p.cfg.Logger.Warn("the plugin's tools have changed, and it does not say how", "plugin", p.Name(), "error", err)
		return
	}
	next := *run.about.Load()
	next.Tools = about.Tools
	run.about.Store(&next)
	p.publish(next)
}

// tell lets the host list the tools again. A run is starting or under way.
func (p *Plugin) tell() {
	if p.cfg.Changed != nil {
		p.owners.Go(p.cfg.Changed)
		return
	}
	select {
	case p.changes <- struct{}{}:
	default:
	}
}
