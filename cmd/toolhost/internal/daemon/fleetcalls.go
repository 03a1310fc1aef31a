package daemon

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/control"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/setup"
	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/audit"
	"github.com/toolhost/toolhost/host/fleet"
	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/host/task"
	"github.com/toolhost/toolhost/internal/durable"
	"github.com/toolhost/toolhost/pluginsdk/tool"
	daemonv1 "github.com/toolhost/toolhost/proto/toolhost/daemon/v1"
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
	errNotFollowed = errors.New("as many detached calls are kept, or as large ones, as can be")
)

// detach makes a durable call, and answers once it is in the queue. Its chain goes on, so that its end is on
// record too.
func (d *daemon) detach(ctx context.Context, by control.Caller, c control.Call, asked policy.Approver) control.Answer {
	f, err := d.inFleet()
	if t, there := d.Get(by, c.Name); there && err == nil && f.DurableMode(t.Name) == "" {
		err = tool.Errorf(tool.CodeInvalidArguments,
			"calls of tool %s end with their callers, so that there is nothing to come back for", t.Name).Of(t.Name, "").
			NeverSent().Try("leave out --detach").
			Fix("leave out --detach, or set durable in a rule for the tool under nats.rules")
	}
	if err != nil {
		return control.Answer{Outcome: host.Outcome{Name: c.Name}}.Failed(err)
	}
	alone := tool.WithProgress(tool.WithDeltas(tool.WithAsker(context.WithoutCancel(ctx), nil), nil), nil)
	life, cancel := context.WithCancelCause(alone)
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
		ended <- d.call(life, by, c, asked)
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

// unendedSince is how old the durable calls are whose ends are recorded after a restart: older ones are forgotten.
const unendedSince = 8 * 24 * time.Hour

// unended returns what puts on record how those durable calls end that an earlier process has submitted: the log has
// their begin lines, and no end.
func (d *daemon) unended(ctx context.Context) (record func()) {
	last := uint64(0) // of the lines of other processes
	for e, err := range audit.Search(ctx, d.Audit, audit.Filter{Limit: 1}) {
		if err == nil {
			last = e.Seq
		}
	}
	if last == 0 {
		return func() {}
	}
	return func() {
		d.detached.add(func(ending context.Context) {
			var all sync.WaitGroup
			places := make(chan struct{}, maxDetached)
			begun := audit.Filter{Unended: true, Since: time.Now().Add(-unendedSince)}
			for e, err := range audit.Search(ending, d.Audit, begun) {
				if err != nil || e.Object == "" || e.Seq > last {
					continue
				}
				select {
				case places <- struct{}{}:
					all.Go(func() {
						d.recordEnd(ending, e.Record)
						<-places
					})
				case <-ending.Done():
				}
			}
			all.Wait()
		})
	}
}

// recordEnd waits for the end of a durable call that has begun so, and records it.
func (d *daemon) recordEnd(ctx context.Context, r audit.Record) {
	for ctx.Err() == nil {
		c, err := d.fleetNow().WaitCall(ctx, r.Object)
		if err == nil {
			_, err = c.Outcome()
		} else if errors.Is(err, fleet.ErrGoesOn) || tool.CodeOf(err) == tool.CodeUnavailable {
			select {
			case <-time.After(time.Second):
			case <-ctx.Done():
			}
			continue
		}
		now := time.Now()
		r.Event, r.Time, r.Duration, r.Attempts = audit.End, now, tool.Duration(max(0, now.Sub(r.Time))), 1
		switch t, there := d.Host.Get(r.Tool); {
		case err != nil:
			if r.Code = tool.CodeOf(err); there && len(t.Sensitive) == 0 { // else it may quote secrets
				r.Message = err.Error()
			}
		case c.Result.IsError:
			r.Code = tool.CodeToolFailed
		}
		if err := d.RecordEnd(r); err != nil {
			d.log.Error("the end of a durable call is not on record", "call", r.Object, "error", err)
		}
		return
	}
}

// askAgain has those calls go on that an earlier process has stored because they wait for a yes, which is asked for again.
func (d *daemon) askAgain(m *member) {
	d.detached.add(func(ctx context.Context) {
		all, _ := m.ListCalls(ctx) // else there is no queue, or none that can be used
		for _, c := range all {
			if c.State == durable.StateWaiting && c.Host == m.name {
				d.detached.add(func(ctx context.Context) { d.goOn(ctx, c) })
			}
		}
	})
}

// goOn makes a call as a task once its tool is there, which another host may share.
func (d *daemon) goOn(ctx context.Context, c durable.Call) {
	for begin := time.Now(); ; {
		if _, there := d.Host.Get(c.Tool); there {
			break
		}
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
		}
		if ctx.Err() != nil || time.Since(begin) > time.Duration(c.TTL) { // it expires
			return
		}
	}
	caller := setup.CallerOf(d.current.Load().loaded.Config, c.Caller).Through(viaMCP, "")
	session := d.Host.Session(append(caller.Session(), host.WithApprover(caller.Approver(setup.Askers{Queue: d.queue})))...)
	s, err := d.openMCP()
	if err == nil {
		_, err = fleet.Tasks(s.tasks, d.fleetNow).Start(ctx, task.Call{ID: c.ID, Session: session, Tool: c.Tool, Arguments: c.Arguments})
	}
	if err != nil {
		d.log.Warn("a call that waits for approval does not go on", "call", c.ID, "error", err)
	}
}

// fleetNow returns the fleet; nil: the daemon is in none.
func (d *daemon) fleetNow() *fleet.Fleet {
	if m := d.fleet.Load(); m != nil {
		return m.Fleet
	}
	return nil
}

// of reports whether a caller may know about a call.
func of(c control.Caller, call durable.Call) bool {
	return c.Operator || c.Name != "" && call.Caller == c.Name
}

// durableCall returns a durable call, if the caller may know about it, with the fleet.
func (d *daemon) durableCall(ctx context.Context, by control.Caller, id string) (*fleet.Fleet, durable.Call, error) {
	f, err := d.inFleet()
	if err != nil {
		return nil, durable.Call{}, err
	}
	c, err := f.GetCall(ctx, id)
	if err == nil && !of(by, c) {
		err = durable.NotFound(id)
	}
	return f, c, err
}

func (d *daemon) ListDurableCalls(ctx context.Context, _ *daemonv1.ListDurableCallsRequest) (*daemonv1.ListDurableCallsResponse, error) {
	f, err := d.inFleet()
	if err != nil {
		return nil, err
	}
	all, err := f.ListCalls(ctx)
	if tool.CodeOf(err) == tool.CodeNotFound { // there is not even a queue
		err = nil
	}
	all = slices.DeleteFunc(all, func(c durable.Call) bool { return !of(control.CallerOf(ctx), c) })
	return &daemonv1.ListDurableCallsResponse{Calls: control.Messages[daemonv1.DurableCall](all)}, err
}

// The call is without its result.
func (d *daemon) GetDurableCall(ctx context.Context, r *daemonv1.GetDurableCallRequest) (*daemonv1.GetDurableCallResponse, error) {
	_, c, err := d.durableCall(ctx, control.CallerOf(ctx), r.GetId())
	return &daemonv1.GetDurableCallResponse{Call: control.Message[daemonv1.DurableCall](&c)}, err
}

func (d *daemon) WaitDurable(ctx context.Context, by control.Caller, id string) control.Answer {
	f, c, err := d.durableCall(ctx, by, id)
	if err == nil {
		c, err = f.WaitCall(ctx, id)
	}
	if err != nil {
		return control.Answer{Outcome: host.Outcome{ID: id}}.Failed(err)
	}
	s := d.Host.Session(d.given(by).Session()...)
	defer s.Close(context.WithoutCancel(ctx)) //nolint:errcheck // it cannot fail
	var answer control.Answer
	answer.Outcome, answer.Result, answer.Err = f.Received(ctx, s, c)
	return answer
}

func (d *daemon) CancelDurableCall(ctx context.Context, r *daemonv1.CancelDurableCallRequest) (*daemonv1.CancelDurableCallResponse, error) {
	f, _, err := d.durableCall(ctx, control.CallerOf(ctx), r.GetId())
	if err == nil {
		err = f.CancelCall(ctx, r.GetId())
	}
	return &daemonv1.CancelDurableCallResponse{}, err
}

func (d *daemon) ListFleetHosts(ctx context.Context, r *daemonv1.ListFleetHostsRequest) (*daemonv1.ListFleetHostsResponse, error) {
	f, err := d.inFleet()
	if err != nil {
		return nil, err
	}
	v, err := f.View(ctx, r.GetOn())
	return control.Message[daemonv1.ListFleetHostsResponse](&v), err
}

func (d *daemon) ListFleetTools(context.Context, *daemonv1.ListFleetToolsRequest) (*daemonv1.ListFleetToolsResponse, error) {
	f, err := d.inFleet()
	if err != nil {
		return nil, err
	}
	return &daemonv1.ListFleetToolsResponse{Tools: control.Messages[daemonv1.FleetTool](f.Tools())}, nil
}

func (d *daemon) DrainHost(ctx context.Context, r *daemonv1.DrainHostRequest) (*daemonv1.DrainHostResponse, error) {
	action := map[bool]string{false: "fleet drain", true: "fleet drain --off"}[r.GetResume()]
	f, err := d.inFleet()
	if err == nil {
		err = f.Drain(ctx, r.GetName(), !r.GetResume())
	}
	if err == nil && r.GetWait() {
		err = f.Drained(ctx, r.GetName(), time.Duration(r.GetTimeoutMs())*time.Millisecond)
	}
	return &daemonv1.DrainHostResponse{}, control.Record(ctx, d, audit.Record{Action: action, Object: r.GetName()}, err)
}
