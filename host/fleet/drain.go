package fleet

import (
	"cmp"
	"context"
	"time"

	"github.com/toolhost/toolhost/pluginsdk/tool"
)

type drainRequest struct {
	On bool `json:"on"`
}

// drainedRequest says how long to wait for the end of the calls before the answer.
type drainedRequest struct {
	Within time.Duration `json:"within_ns"`
}

// drainState is the answer to drainedOperation.
type drainState struct {
	Draining bool `json:"draining"`
	Calls    int  `json:"calls"` // of other hosts, in progress
}

// Drain has a host take no new calls, or take them again. Empty: this host. It returns when the
// host has said so, not when its calls have ended.
//
// # Errors
//
// [tool.CodeNotFound] for a host that is not there; [tool.CodeAlreadyExists] if several have the name;
// [tool.CodePermissionDenied] if it does not let this one drain it; [tool.CodeUnavailable].
func (f *Fleet) Drain(ctx context.Context, name string, on bool) error {
	m, err := f.one(name)
	if err != nil {
		return err
	}
	if m == nil {
		f.drain(on)
		return nil
	}
	if err := m.operate(ctx, drainOperation, drainRequest{on}, new(struct{})); err != nil {
		return err
	}
	f.directory.mu.Lock() // its announcement is on its way
	said := *m.said
	said.Draining = on
	m.said = &said
	f.directory.mu.Unlock()
	f.rebuild(m)
	return nil
}

// Drained returns when a host that drains has ended the calls of other hosts. Empty: this host. Within bounds the wait;
// 0: as long as it takes.
//
// # Errors
//
// Those of [Fleet.Drain]; [tool.CodeCanceled] if it takes calls again, and [tool.CodeDeadlineExceeded], which says how many calls are left;
// the context's end.
func (f *Fleet) Drained(ctx context.Context, name string, within time.Duration) error {
	m, err := f.one(name)
	if err != nil {
		return err
	}
	until := time.Now().Add(within)
	for {
		wait := drainPoll
		if within > 0 {
			wait = min(wait, max(time.Until(until), 0))
		}
		var now drainState
		if m == nil {
			now = f.drainState(ctx, wait)
		} else if err = m.drained(ctx, wait, &now); err != nil {
			return err
		}
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case !now.Draining:
			return tool.Errorf(tool.CodeCanceled, "host %s takes calls again", cmp.Or(name, f.settings.Load().Name))
		case now.Calls == 0:
			return nil
		case within > 0 && time.Until(until) <= 0:
			return tool.Errorf(tool.CodeDeadlineExceeded, "host %s has not ended its calls of other hosts within %v: %d left",
				cmp.Or(name, f.settings.Load().Name), within, now.Calls).Try("wait again, or stop the host, which gives them what time it has")
		}
	}
}

// drained asks another host how it drains. A host that says nothing costs a moment more than the wait.
func (m *member) drained(ctx context.Context, wait time.Duration, now *drainState) error {
	ctx, cancel := context.WithTimeout(ctx, wait+dialTime+goneAfter)
	defer cancel()
	return m.operate(ctx, drainedOperation, drainedRequest{wait}, now)
}

// drainPoll bounds how long a host is asked to wait for the end of its calls before it answers.
const drainPoll = 10 * time.Second

// drainState returns how a host drains that does, as soon as it has no calls of other hosts any more,
// or after a while.
func (s *inbound) drainState(ctx context.Context, wait time.Duration) drainState {
	ctx, cancel := context.WithTimeout(ctx, min(wait, drainPoll))
	defer cancel()
	s.bell.wait(ctx, func() bool { return s.serving.Load() == 0 || !s.draining.Load() })
	return drainState{s.draining.Load(), int(s.serving.Load())}
}

// drain has the host take no new calls, or take them again.
func (s *inbound) drain(on bool) {
	if s.draining.Swap(on) != on {
		if c := s.queue.calls.Load(); c != nil {
			c.Drain(on)
		}
		s.announces.send()
		s.bell.ring()
	}
}

func mayDrain(p namedPeer) error {
	if p.Admin {
		return nil
	}
	return tool.Errorf(tool.CodePermissionDenied, "it lets this host neither drain it nor see what it sees").
		Fix("set admin: true for this host's key under nats.peers there")
}
