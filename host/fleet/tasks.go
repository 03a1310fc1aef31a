package fleet

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/task"
	"github.com/toolhost/toolhost/internal/durable"
	"github.com/toolhost/toolhost/internal/durable/mode"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Tasks returns a store whose tasks of durable tools survive the restart of the host: such a task
// has the ID of its durable call. While the host runs, they are in memory with all other tasks, and so count
// among those that it keeps; afterwards, and when their time there is over, they are found in the
// queue. Those of callers without a name are only in memory, as they could not be told from
// those of others. Current returns the fleet; nil: the host is in none.
func Tasks(memory *task.Memory, current func() *Fleet) task.Store {
	return &taskStore{Memory: memory, current: current}
}

type taskStore struct {
	*task.Memory
	current func() *Fleet
}

const (
	// cancelTime bounds how long the end of a task's call may take to reach the queue.
	cancelTime = 5 * time.Second
	// startTime bounds how long a client waits for its task, until the call is in the queue: before that, the call may
	// need an approval.
	startTime = 2 * time.Second
	taskPoll  = time.Second
	// taskTTL is what a client is told of a task that is only in the queue, which keeps it longer.
	taskTTL = durable.DefaultTTL
)

// Start implements [task.Store]. It returns when the queue has the call, or when the call has a question or
// has ended, but after a while in any case.
func (s *taskStore) Start(ctx context.Context, c task.Call) (task.Task, error) {
	f := s.current()
	if f == nil || c.Running || c.Session.Caller().Name == "" || f.DurableMode(c.Tool) == "" {
		return s.Memory.Start(ctx, c)
	}
	c.ID = cmp.Or(c.ID, rand.Text()) // it is that of a call that an earlier process has stored
	run, begun := c.Run, newSignal()
	if run == nil {
		run = func(ctx context.Context, _ task.Asker) (end task.End) {
			end.Outcome, end.Result, end.Err = c.Session.CallWith(ctx, tool.Call{Name: c.Tool, Arguments: c.Arguments}, host.CallOptions{})
			return end
		}
	}
	c.Run = func(ctx context.Context, ask task.Asker) task.End {
		defer begun.send()
		ctx = WithSubmission(ctx, c.ID, func(string) { begun.send() })
		held := false // it waits for a yes, and survives this process
		ctx = context.WithValue(ctx, mode.Asked{}, func() { held = f.hold(ctx, c) == nil })
		end := run(ctx, func(ctx context.Context, question json.RawMessage) (json.RawMessage, error) {
			begun.send()
			return ask(ctx, question)
		})
		if errors.Is(context.Cause(ctx), task.ErrCancelled) { // it may have been submitted just then
			_ = s.cancelCall(context.WithoutCancel(ctx), c.ID)
		} else if held && end.Err != nil && ctx.Err() == nil {
			_ = f.refuse(ctx, c.ID, end.Err)
		}
		return end
	}
	t, err := s.Memory.Start(ctx, c)
	if err != nil {
		return t, err
	}
	select {
	case <-begun:
	case <-time.After(startTime): // the task can be asked for all the same
	case <-ctx.Done():
	}
	if now, err := s.Memory.Get(ctx, c.Session, t.ID); err == nil {
		return now, nil
	}
	return t, nil
}

// hold stores a call that waits for a yes.
func (q *queue) hold(ctx context.Context, c task.Call) error {
	ctx, cancel := context.WithTimeout(ctx, submitTime)
	defer cancel()
	calls, err := q.open(ctx, true)
	if err != nil {
		return err
	}
	t, there := q.host.Get(c.Tool)
	if !there {
		return notShared(c.Tool)
	}
	name := t.Claimed.Name
	if t.Owner != Owner {
		name = t.Name
	}
	return calls.Hold(ctx, durable.Request{
		ID: c.ID, Tool: name, Own: t.Owner != Owner, Arguments: c.Arguments, Caller: c.Session.Caller().Name, Mode: q.DurableMode(t.Name),
	})
}

// refuse ends a call that is stored and waits for a yes.
func (q *queue) refuse(ctx context.Context, id string, why error) error {
	ctx, cancel := context.WithTimeout(ctx, submitTime)
	defer cancel()
	calls, err := q.open(ctx, false)
	if err != nil {
		return err
	}
	return calls.Refuse(ctx, id, why)
}

// Get implements [task.Store].
func (s *taskStore) Get(ctx context.Context, session *host.Session, id string) (task.Task, error) {
	t, err := s.Memory.Get(ctx, session, id)
	if err == nil && (t.End == nil || !errors.Is(t.End.Err, ErrGoesOn)) || err != nil && tool.CodeOf(err) != tool.CodeNotFound {
		return t, err
	}
	c, f, callErr := s.find(ctx, session, id)
	switch {
	case f == nil && err == nil:
		return t, nil
	case f == nil:
		return t, err
	case callErr != nil:
		return task.Task{}, callErr
	}
	out := task.Task{
		ID: id, Tool: c.Tool, State: task.Working, Created: c.Submitted, TTL: taskTTL, Poll: taskPoll,
		Updated: slices.MaxFunc([]time.Time{c.Submitted, c.Started, c.Ended}, time.Time.Compare),
	}
	switch {
	case c.State == durable.StateCanceled:
		out.State = task.Cancelled
	case c.State.Ended():
		if c, err = f.WaitCall(ctx, id); err != nil { // with its result
			return task.Task{}, err
		}
		out.State = task.Ended
		out.End = new(task.End)
		out.End.Outcome, out.End.Result, out.End.Err = f.Received(ctx, session, c)
	}
	return out, nil
}

// find returns a durable call of the session's caller. Without a fleet, or a call of the caller's, the fleet
// is nil.
func (s *taskStore) find(ctx context.Context, session *host.Session, id string) (durable.Call, *Fleet, error) {
	f, name := s.current(), session.Caller().Name
	if f == nil || name == "" || f.calls.Load() == nil && !f.settings.Load().makesQueue() {
		return durable.Call{}, nil, nil
	}
	c, err := f.GetCall(ctx, id)
	if tool.CodeOf(err) == tool.CodeNotFound || err == nil && c.Caller != name {
		return durable.Call{}, nil, nil
	}
	return c, f, err
}

// Cancel implements [task.Store].
func (s *taskStore) Cancel(ctx context.Context, session *host.Session, id string) error {
	err := s.Memory.Cancel(ctx, session, id)
	if err != nil && tool.CodeOf(err) != tool.CodeNotFound {
		return err
	}
	switch _, f, callErr := s.find(ctx, session, id); {
	case f == nil:
		return err
	case callErr != nil:
		return callErr
	}
	return s.cancelCall(ctx, id)
}

func (s *taskStore) cancelCall(ctx context.Context, id string) error {
	f := s.current()
	if f == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, cancelTime)
	defer cancel()
	return f.CancelCall(ctx, id)
}

// Answer implements [task.Store]. A call in the queue has no questions.
func (s *taskStore) Answer(ctx context.Context, session *host.Session, id string, answers map[string]json.RawMessage) error {
	err := s.Memory.Answer(ctx, session, id, answers)
	if err != nil && tool.CodeOf(err) == tool.CodeNotFound {
		if _, f, _ := s.find(ctx, session, id); f != nil {
			return nil
		}
	}
	return err
}
