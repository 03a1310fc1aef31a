package daemon

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/control"
	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/fleet"
	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/internal/durable"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Bounds of the detached calls whose ends are waited for, to be recorded: how many, and the bytes of their arguments.
const (
	maxDetached      = 1024
	maxDetachedBytes = 64 << 20
)

// detached are durable calls whose callers have gone on.
type detached struct {
	*tasks
	n, bytes atomic.Int64
}

// hold counts a call with so many bytes of arguments until release is called. False: there are too many.
func (d *detached) hold(size int) (release func(), ok bool) {
	n, bytes := d.n.Add(1), d.bytes.Add(int64(size))
	return func() {
		d.n.Add(-1)
		d.bytes.Add(-int64(size))
	}, n <= maxDetached && bytes <= maxDetachedBytes
}

func newDetached() *detached { return &detached{tasks: newTasks()} }

var (
	errEnding      = errors.New("the daemon ends")
	errNotFollowed = errors.New("as many detached calls are followed, or as large ones, as can be")
)

// detach makes a durable call, and answers once it is in the queue. Its chain goes on, so that its end is on
// record too.
func (d *daemon) detach(ctx context.Context, by control.Caller, c control.Call, asked policy.Approver) control.Answer {
	f, err := d.Fleet()
	if t, there := d.Get(by, c.Name); there && err == nil && f.DurableMode(t.Name) == "" {
		err = tool.Errorf(tool.CodeInvalidArguments,
			"calls of tool %s end with their callers, so that there is nothing to come back for", t.Name).Of(t.Name, "").
			NeverSent().Try("leave out --detach").
			Fix("leave out --detach, or set durable in a rule for the tool under nats.rules")
	}
	if err != nil {
		return control.Answer{Outcome: host.Outcome{Name: c.Name}}.Failed(err)
	}
	life, cancel := context.WithCancelCause(tool.WithDeltas(tool.WithAsker(context.WithoutCancel(ctx), nil), nil))
	withCaller := context.AfterFunc(ctx, func() { cancel(context.Cause(ctx)) })
	submitted, ended := make(chan string, 1), make(chan control.Answer, 1)
	c.Told = func(id string) {
		withCaller()
		submitted <- id
	}
	d.detached.add(func(ending context.Context) {
		defer cancel(nil)
		defer context.AfterFunc(ending, func() { cancel(errEnding) })()
		release, ok := d.detached.hold(len(c.Arguments))
		defer release()
		if !ok {
			told := c.Told
			c.Told = func(id string) {
				told(id)
				cancel(errNotFollowed)
			}
		}
		ended <- d.counted(life, by, c, asked)
	})
	var answer control.Answer
	var id string
	select {
	case id = <-submitted:
	case answer = <-ended:
		select {
		case id = <-submitted: // and then it ended
		default:
			return answer
		}
	}
	return control.Answer{Outcome: host.Outcome{ID: id, Name: c.Name, Success: true}, Detached: id}
}

// fleetNow returns the fleet; nil: the daemon is in none.
func (d *daemon) fleetNow() *fleet.Fleet {
	if m := d.fleet.Load(); m != nil {
		return m.Fleet
	}
	return nil
}

// Durable implements [control.Service].
func (d *daemon) Durable() (control.Durable, error) {
	f, err := d.Fleet()
	if err != nil {
		return nil, err
	}
	return durableCalls{d, f}, nil
}

type durableCalls struct {
	daemon *daemon
	fleet  *fleet.Fleet
}

// of reports whether a caller may know about a call.
func of(c control.Caller, call durable.Call) bool {
	return c.Operator || c.Name != "" && call.Caller == c.Name
}

// List implements [control.Durable].
func (d durableCalls) List(ctx context.Context, by control.Caller) ([]durable.Call, error) {
	all, err := d.fleet.ListCalls(ctx)
	if tool.CodeOf(err) == tool.CodeNotFound { // there is not even a queue
		return nil, nil
	}
	return slices.DeleteFunc(all, func(c durable.Call) bool { return !of(by, c) }), err
}

// Get implements [control.Durable].
func (d durableCalls) Get(ctx context.Context, by control.Caller, id string) (durable.Call, error) {
	c, err := d.fleet.GetCall(ctx, id)
	if err == nil && !of(by, c) {
		return durable.Call{}, durable.NotFound(id)
	}
	return c, err
}

// Wait implements [control.Durable].
func (d durableCalls) Wait(ctx context.Context, by control.Caller, id string) control.Answer {
	_, err := d.Get(ctx, by, id)
	var c durable.Call
	if err == nil {
		c, err = d.fleet.WaitCall(ctx, id)
	}
	if err != nil {
		return control.Answer{Outcome: host.Outcome{ID: id}}.Failed(err)
	}
	given := d.daemon.given(by)
	s := d.daemon.local.Host.Session(given.Session()...)
	defer s.Close(context.WithoutCancel(ctx)) //nolint:errcheck // it cannot fail
	var answer control.Answer
	answer.Outcome, answer.Result, answer.Err = d.fleet.Received(ctx, s, c)
	return answer
}

// Cancel implements [control.Durable].
func (d durableCalls) Cancel(ctx context.Context, by control.Caller, id string) error {
	if _, err := d.Get(ctx, by, id); err != nil {
		return err
	}
	return d.fleet.CancelCall(ctx, id)
}
