package pluginrun

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/toolhost/toolhost/internal/deadline"
)

// health is what is known of a run's health. It is checked only when a call was not
// answered in time, so that nothing waits or ticks for a plugin that is well.
type health struct {
	pause    time.Duration          // between two checks
	checked  atomic.Int64           // when; Unix nanoseconds
	checking atomic.Bool            // now
	missed   atomic.Int32           // checks in a row with no answer
	degraded atomic.Pointer[string] // why; nil: the plugin is well as far as is known
	problem  atomic.Pointer[string] // that the plugin tells of itself; nil: none
	changed  func()                 // called when degraded has changed
}

// What checks with no answer lead to. The second follows the first at once.
const (
	healthPause    = 10 * time.Second
	missedDegraded = 2
	missedStuck    = 3
)

// suspect checks the health of a run, unless it was checked lately.
func (h *health) suspect(in *instance) {
	now, last := time.Now().UnixNano(), h.checked.Load()
	if time.Duration(now-last) < h.pause || in.calls.Draining() || h.checking.Swap(true) {
		return
	}
	h.checked.Store(now)
	go func() { // it ends with the connection, and within two internalTimeouts
		defer h.checking.Store(false)
		h.check(in)
	}()
}

// check asks the plugin's health service how the plugin is.
func (h *health) check(in *instance) {
	for {
		serving, answered := in.link.check()
		switch {
		case in.proc.hasEnded() || in.calls.Draining():
			return
		case answered && serving:
			h.answered()
			return
		case answered:
			h.missed.Store(0)
			h.degrade(in, "the health service says that the plugin is not serving")
			return
		}
		switch missed := h.missed.Add(1); {
		case missed >= missedStuck:
			in.proc.refuse(errors.New("the plugin answered no call and no health check"))
			in.proc.log.Error("the plugin is ended: it answered no call and no health check")
			in.proc.kill()
			return
		case missed >= missedDegraded:
			h.degrade(in, fmt.Sprintf("the plugin answered no call in time, and no health check %d times in a row", missed))
			return
		}
	}
}

// problemTime is how long a plugin may take to say how it is.
const problemTime = 5 * time.Second

// ask asks the plugin how it is, now and after each pause, until the run has ended.
func (h *health) ask(in *instance) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		<-in.proc.exited
		cancel()
	}()
	for ctx.Err() == nil && !in.calls.Draining() {
		limited, over := context.WithTimeout(ctx, problemTime)
		problem := in.link.problem(limited)
		over()
		if ctx.Err() == nil {
			h.tellProblem(in, problem)
		}
		deadline.Sleep(ctx, h.pause)
	}
}

// tellProblem notes what a plugin says of itself.
func (h *health) tellProblem(in *instance, problem string) {
	was := h.problem.Load()
	if problem == "" {
		if h.problem.Store(nil); was != nil {
			in.proc.log.Info("the plugin is well again")
			h.tellChanged()
		}
		return
	}
	if h.problem.Store(&problem); was == nil || *was != problem {
		in.proc.log.Warn("the plugin is degraded: " + problem)
		h.tellChanged()
	}
}

func (h *health) degrade(in *instance, why string) {
	if h.degraded.Swap(&why) == nil {
		in.proc.log.Warn("the plugin is degraded: " + why)
		h.tellChanged()
	}
}

// answered notes that the plugin answered. It costs nothing unless that was in doubt.
func (h *health) answered() {
	if h.degraded.Load() != nil {
		h.missed.Store(0)
		h.degraded.Store(nil)
		h.tellChanged()
	}
}

func (h *health) tellChanged() {
	if h.changed != nil {
		h.changed()
	}
}
