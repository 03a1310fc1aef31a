package pluginrun

import (
	"sync/atomic"
	"time"
)

// idleChecks is how often a run is checked in each [plugin.Settings.IdleTimeout]. One that was not
// used at so many checks in a row is idle. That costs a call less than reading the clock:
// a call leaves a mark, if there is none.
const idleChecks = 4

// idle watches for a run that is not used.
type idle struct {
	used    atomic.Bool // since the last check
	unused  int         // checks in a row that found no use; the timer's own
	expired atomic.Bool
	timer   atomic.Pointer[time.Timer]
}

// use marks the run as used.
func (i *idle) use() {
	if !i.used.Load() {
		i.used.Store(true)
	}
}

// watch calls onExpired, once, when the run was neither used nor busy for the timeout. A
// timeout of 0 never expires.
func (i *idle) watch(timeout time.Duration, busy func() bool, onExpired func()) {
	if timeout <= 0 {
		return
	}
	pause := max(timeout/idleChecks, time.Millisecond)
	i.use() // by the call that started it
	var t *time.Timer
	t = time.AfterFunc(1<<62, func() {
		if i.used.Swap(false) || busy() {
			i.unused = 0
		} else if i.unused++; i.unused >= idleChecks {
			onExpired()
			return
		}
		t.Reset(pause)
	})
	i.timer.Store(t)
	t.Reset(pause)
}

// stop ends the watch.
func (i *idle) stop() {
	if t := i.timer.Load(); t != nil {
		t.Stop()
	}
}
