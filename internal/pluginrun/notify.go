package pluginrun

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"
)

// How often a plugin that says that its tools have changed is asked for them. Each time
// costs the host a new registry, with all the tools compiled: one that says so without
// end, and has others each time, is asked at this pace, and takes a small share of one
// processor, however much it describes. One slow refresh, as on a busy machine, does not
// hold up the next.
const (
	refreshPause = 250 * time.Millisecond
	freeRefresh  = 5

	costShare    = .1 // of the time is for refreshes
	freeCost     = 1  // seconds of them come on top
	longestPause = time.Minute
)

// refresh paces how often a run is asked for its tools.
type refresh struct {
	onChanged func(*instance) // the plugin says that it has other tools than it described
	pending   atomic.Bool
	limit     *rate.Limiter
	running   sync.Mutex // held while the run is asked and the host uses the answer
	cost      bucket     // seconds that this took; guarded by running
	notBefore time.Time  // when it may be asked again; guarded by running
}

func newRefresh(onChanged func(*instance)) refresh {
	return refresh{
		onChanged: onChanged, limit: rate.NewLimiter(rate.Every(refreshPause), freeRefresh),
		cost: bucket{rate: costShare, burst: freeCost},
	}
}

// notifier finds out which tools a plugin has when it says that they have changed, and
// tells the host.
type notifier struct {
	name    string
	cfg     Config
	runs    *supervisor
	said    *published
	changes chan struct{}
}

// onChanged asks a run that said that its tools have changed for them, in the background.
// It does not block.
func (n *notifier) onChanged(run *instance) {
	if run.refresh.pending.Swap(true) {
		return
	}
	n.runs.background(func() {
		run.refresh.running.Lock() // one refresh at a time, with its pause
		defer run.refresh.running.Unlock()
		pause := max(run.refresh.limit.Reserve().Delay(), time.Until(run.refresh.notBefore))
		if !n.await(run, pause) {
			return
		}
		run.refresh.pending.Store(false) // what it says from now on is another change
		began := time.Now()
		n.refresh(run)
		ended, cost := time.Now(), &run.refresh.cost
		cost.refill(ended)
		run.refresh.notBefore = ended.Add(min(cost.charge(ended.Sub(began).Seconds()), longestPause))
		cost.spent = min(cost.spent, freeCost+costShare*longestPause.Seconds())
	})
}

// await waits for a while, and until the host knows the run. It reports whether the run is
// still of use.
func (n *notifier) await(run *instance, d time.Duration) bool {
	pause, cancel := context.WithTimeout(n.runs.life, d)
	defer cancel()
	for _, c := range []<-chan struct{}{run.published, pause.Done()} {
		select {
		case <-c:
		case <-run.proc.exited:
			return false
		}
	}
	return n.runs.life.Err() == nil
}

// refresh asks a run for its tools, and returns when the host has taken them.
func (n *notifier) refresh(run *instance) {
	ctx, cancel := context.WithTimeout(n.runs.life, n.cfg.StartTimeout)
	defer cancel()
	about, err := run.link.describe(ctx)
	if errors.Is(err, errPinned) { // and the run is ended
		n.cfg.Logger.Error("the plugin's tools have changed, and are not as pinned", "plugin", n.name, "error", err)
		return
	}
	if err != nil {
		n.cfg.Logger.Warn("the plugin's tools have changed, and it does not say how", "plugin", n.name, "error", err)
		return
	}
	if !n.runs.isCurrent(run) || !n.said.storeTools(about.Tools) {
		return
	}
	if n.cfg.Changed != nil {
		n.cfg.Changed()
		return
	}
	n.notify()
}

// notify makes the host list the tools again, and does not wait for that.
func (n *notifier) notify() {
	if n.cfg.Changed != nil {
		n.runs.background(n.cfg.Changed)
		return
	}
	select {
	case n.changes <- struct{}{}:
	default:
	}
}
