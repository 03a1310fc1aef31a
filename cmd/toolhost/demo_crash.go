package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// crashTimeout bounds each wait of the steps around the crash. They take
// milliseconds where all is well.
const crashTimeout = 10 * time.Second

// hanging is a call that waits for an answer.
type hanging struct {
	ended chan struct{}
	err   error     // how it ended; set before ended is closed
	at    time.Time // and when
}

// hang makes a call and does not wait for it.
func (d *demo) hang(ctx context.Context, r *role) *hanging {
	h := &hanging{ended: make(chan struct{})}
	go func() {
		_, h.err = d.ask(ctx, r.tool, r.args)
		h.at = time.Now()
		close(h.ended)
	}()
	return h
}

// crash is step 6. The plugin is stopped first, so that the call is under way,
// and stays so, when the plugin is killed.
func (d *demo) crash(ctx context.Context) error {
	if !canKill {
		d.notef("left out: this system has no signals")
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, crashTimeout)
	defer cancel()
	v := d.victim
	s, _ := statusOf(d.host.Plugins(), v.plugin)
	v.pid = s.PID // it may have crashed by itself before
	if v.pid == 0 {
		return fmt.Errorf("plugin %s is not running: %s", v.plugin, s.Reason)
	}
	if err := stopProcess(v.pid); err != nil {
		return fmt.Errorf("plugin %s (pid %d) cannot be stopped: %w", v.plugin, v.pid, err)
	}
	call := d.hang(ctx, v)
	err := d.meanwhile(ctx, call)
	killed := time.Now()
	killProcess(v.pid) // whatever happened: it must not stay stopped
	<-call.ended       // at the latest when ctx ends
	if err != nil {
		return err
	}
	if tool.CodeOf(call.err) != tool.CodeCrashed {
		return fmt.Errorf("plugin %s was killed, and its caller was not told so but got %s", v.plugin, call.result())
	}
	d.notef("SIGKILL to %s (pid %d) while it ran %s", v.plugin, v.pid, v.tool)
	d.notef("%s later its caller had the error", milliseconds(call.at.Sub(killed)))
	d.notef("%s", call.result())
	return nil
}

// result tells how the call ended.
func (h *hanging) result() string {
	if h.err == nil {
		return "an answer"
	}
	return fmt.Sprintf("%s: %v", tool.CodeOf(h.err), h.err)
}

// meanwhile waits until the call to the stopped plugin is under way, and calls
// the other one.
func (d *demo) meanwhile(ctx context.Context, call *hanging) error {
	if err := d.underWay(call); err != nil || d.other == nil {
		return err
	}
	begin := time.Now()
	if _, err := d.ask(ctx, d.other.tool, d.other.args); err != nil {
		return fmt.Errorf("while %s was stopped, %s did not answer: %w", d.victim.plugin, d.other.plugin, err)
	}
	d.notef("%s answered in %s while a call to %s hung", d.other.plugin, milliseconds(time.Since(begin)), d.victim.plugin)
	return nil
}

func (d *demo) underWay(call *hanging) error {
	look := time.NewTicker(time.Millisecond)
	defer look.Stop()
	for {
		if s, _ := statusOf(d.host.Plugins(), d.victim.plugin); s.Calls > 0 {
			return nil
		}
		select {
		case <-look.C:
		case <-call.ended: // at the latest with its context
			return fmt.Errorf("the call to %s ended before anything happened, with %s", d.victim.plugin, call.result())
		}
	}
}

// survive is step 7.
func (d *demo) survive(ctx context.Context) error {
	if d.other == nil {
		d.notef("left out: %s is the only plugin with a part here", d.victim.plugin)
		return nil
	}
	if _, err := d.ask(ctx, d.other.tool, d.other.args); err != nil {
		return err
	}
	s, _ := statusOf(d.host.Plugins(), d.other.plugin)
	if s.PID != d.other.pid || s.Starts != 1 {
		return fmt.Errorf("plugin %s answers, but it is pid %d and was %d", s.Name, s.PID, d.other.pid)
	}
	d.notef("%s answers as before (pid %d)", s.Name, s.PID)
	return nil
}

// restart is step 8.
func (d *demo) restart(ctx context.Context) error {
	if !canKill {
		d.notef("left out: nothing was killed")
		return nil
	}
	v := d.victim
	if _, err := d.ask(ctx, v.tool, v.args); err != nil {
		return err
	}
	s, _ := statusOf(d.host.Plugins(), v.plugin)
	if s.State != plugin.Ready || s.PID == v.pid {
		return fmt.Errorf("plugin %s answers, but it is %s as pid %d and was pid %d", s.Name, s.State, s.PID, v.pid)
	}
	d.notef("%s was started anew (pid %d) in %s, and answers", s.Name, s.PID, milliseconds(time.Duration(s.Took)))
	return nil
}

// end is the last step. It runs after failures too.
func (d *demo) end(ctx context.Context) error {
	pids := []int{d.victimPID()}
	for _, s := range d.host.Plugins() {
		pids = append(pids, s.PID)
	}
	if err := d.host.close(ctx); err != nil {
		return err
	}
	slices.Sort(pids)
	pids = slices.DeleteFunc(slices.Compact(pids), func(pid int) bool { return pid == 0 })
	for _, pid := range pids {
		if processAlive(pid) {
			return fmt.Errorf("process %d is still there", pid)
		}
	}
	d.notef("%d processes are gone, and their sockets", len(pids))
	return nil
}

// victimPID is the process that was killed; 0: no plugin plays a part.
func (d *demo) victimPID() int {
	if d.victim == nil {
		return 0
	}
	return d.victim.pid
}
