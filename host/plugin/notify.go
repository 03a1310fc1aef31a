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
		run.changing.Lock() // one change at a time, with its pause
		defer run.changing.Unlock()
		if !run.await(p.life, max(run.changes.Reserve().Delay(), time.Until(run.restUntil))) {
			return
		}
		run.asked.Store(false) // what it says from now on is another change
		begun := time.Now()
		p.describe(run)
		ended := time.Now()
		run.restUntil = ended.Add(changeRest(ended.Sub(begun)))
	})
}

// How often a plugin that says that its tools have changed is asked which they are.
// Each time costs the host a new registry, with all the tools compiled: one that says
// so without end, and has others each time, is asked at this pace, and takes a small
// share of one processor, however much it describes.
const (
	changePause = 250 * time.Millisecond
	freeChanges = 5

	restFactor  = 10 // a pause is so many times as long as the last change took
	longestRest = time.Minute
)

// changeRest is the pause after a change that took so long.
func changeRest(took time.Duration) time.Duration { return min(restFactor*took, longestRest) }

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

// describe asks a run for its tools, and returns when the host has taken them.
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
	if !p.publish(next) {
		return
	}
	if p.cfg.Changed != nil {
		p.cfg.Changed()
		return
	}
	p.tell()
}

// tell lets the host list the tools again, and does not wait for that. A run is starting
// or under way.
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
