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
	"github.com/toolhost/toolhost/internal/deadline"
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
func (in *membership) detach(ctx context.Context, by control.Caller, c control.Call, asked policy.Approver) control.Answer {
	f, err := in.fleet()
	if t, there := in.daemon.Get(by, c.Name); there && err == nil && f.DurableMode(t.Name) == "" {
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
	in.detached.add(func(ending context.Context) {
		defer cancel(nil)
		defer context.AfterFunc(ending, func() { cancel(errEnding) })()
		release, ok := in.detached.hold(len(c.Arguments))
		defer release()
		if !ok {
			told := c.Told
			c.Told = func(id string) {
				told(id)
				cancel(errNotFollowed)
			}
		}
		ended <- in.daemon.call(life, by, c, asked)
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
func (in *membership) unended(ctx context.Context) (record func()) {
	last := uint64(0) // of the lines of other processes
	for e, err := range audit.Search(ctx, in.daemon.Audit, audit.Filter{Limit: 1}) {
		if err == nil {
			last = e.Seq
		}
	}
	if last == 0 {
		return func() {}
	}
	return func() {
		in.detached.add(func(ending context.Context) {
			var all sync.WaitGroup
			places := make(chan struct{}, maxDetached)
			begun := audit.Filter{Unended: true, Since: time.Now().Add(-unendedSince)}
			for e, err := range audit.Search(ending, in.daemon.Audit, begun) {
				if err != nil || e.Object == "" || e.Seq > last {
					continue
				}
				select {
				case places <- struct{}{}:
					all.Go(func() {
						in.recordEnd(ending, e.Record)
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
func (in *membership) recordEnd(ctx context.Context, r audit.Record) {
	for ctx.Err() == nil {
		c, err := in.fleetNow().WaitCall(ctx, r.Object)
		if err == nil {
			_, err = c.Outcome()
		} else if errors.Is(err, fleet.ErrGoesOn) || tool.CodeOf(err) == tool.CodeUnavailable {
			deadline.Sleep(ctx, time.Second)
			continue
		}
		now := time.Now()
		r.Event, r.Time, r.Duration, r.Attempts = audit.End, now, tool.Duration(max(0, now.Sub(r.Time))), 1
		switch t, there := in.daemon.Host.Get(r.Tool); {
		case err != nil:
			if r.Code = tool.CodeOf(err); there && len(t.Sensitive) == 0 { // else it may quote secrets
				r.Message = err.Error()
			}
		case c.Result.IsError:
			r.Code = tool.CodeToolFailed
		}
		if err := in.daemon.RecordEnd(r); err != nil {
			in.daemon.log.Error("the end of a durable call is not on record", "call", r.Object, "error", err)
		}
		return
	}
}

// askAgain has those calls go on that an earlier process has stored because they wait for a yes, which is asked for again.
func (in *membership) askAgain(m *member) {
	in.detached.add(func(ctx context.Context) {
		all, _ := m.ListCalls(ctx) // else there is no queue, or none that can be used
		for _, c := range all {
			if c.State == durable.StateWaiting && c.Host == m.name {
				in.detached.add(func(ctx context.Context) { in.goOn(ctx, c) })
			}
		}
	})
}

// goOn makes a call as a task once its tool is there, which another host may share.
func (in *membership) goOn(ctx context.Context, c durable.Call) {
	for begin := time.Now(); ; {
		if _, there := in.daemon.Host.Get(c.Tool); there {
			break
		}
		if !deadline.Sleep(ctx, time.Second) || time.Since(begin) > time.Duration(c.TTL) { // it expires
			return
		}
	}
	caller := setup.CallerOf(in.daemon.config(), c.Caller).Through(viaMCP, "")
	session := in.daemon.Host.Session(append(caller.Session(), host.WithApprover(caller.Approver(setup.Askers{Queue: in.daemon.queue})))...)
	s, err := in.daemon.mcp.open()
	if err == nil {
		_, err = fleet.Tasks(s.tasks, in.fleetNow).Start(ctx, task.Call{ID: c.ID, Session: session, Tool: c.Tool, Arguments: c.Arguments})
	}
	if err != nil {
		in.daemon.log.Warn("a call that waits for approval does not go on", "call", c.ID, "error", err)
	}
}

// fleetNow returns the fleet; nil: the daemon is in none.
func (in *membership) fleetNow() *fleet.Fleet {
	if m := in.member.Load(); m != nil {
		return m.Fleet
	}
	return nil
}

// of reports whether a caller may know about a call.
func of(c control.Caller, call durable.Call) bool {
	return c.Operator || c.Name != "" && call.Caller == c.Name
}

// durableCall returns a durable call, if the caller may know about it, with the fleet.
func (in *membership) durableCall(ctx context.Context, by control.Caller, id string) (*fleet.Fleet, durable.Call, error) {
	f, err := in.fleet()
	if err != nil {
		return nil, durable.Call{}, err
	}
	c, err := f.GetCall(ctx, id)
	if err == nil && !of(by, c) {
		err = durable.NotFound(id)
	}
	return f, c, err
}

func (in *membership) ListDurableCalls(ctx context.Context, _ *daemonv1.ListDurableCallsRequest) (*daemonv1.ListDurableCallsResponse, error) {
	f, err := in.fleet()
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
func (in *membership) GetDurableCall(ctx context.Context, r *daemonv1.GetDurableCallRequest) (*daemonv1.GetDurableCallResponse, error) {
	_, c, err := in.durableCall(ctx, control.CallerOf(ctx), r.GetId())
	return &daemonv1.GetDurableCallResponse{Call: control.Message[daemonv1.DurableCall](&c)}, err
}

func (in *membership) WaitDurable(ctx context.Context, by control.Caller, id string) control.Answer {
	f, c, err := in.durableCall(ctx, by, id)
	if err == nil {
		c, err = f.WaitCall(ctx, id)
	}
	if err != nil {
		return control.Answer{Outcome: host.Outcome{ID: id}}.Failed(err)
	}
	s := in.daemon.Host.Session(in.daemon.given(by).Session()...)
	defer s.Close(context.WithoutCancel(ctx)) //nolint:errcheck // it cannot fail
	var answer control.Answer
	answer.Outcome, answer.Result, answer.Err = f.Received(ctx, s, c)
	return answer
}

func (in *membership) CancelDurableCall(ctx context.Context, r *daemonv1.CancelDurableCallRequest) (*daemonv1.CancelDurableCallResponse, error) {
	f, _, err := in.durableCall(ctx, control.CallerOf(ctx), r.GetId())
	if err == nil {
		err = f.CancelCall(ctx, r.GetId())
	}
	return &daemonv1.CancelDurableCallResponse{}, err
}

func (in *membership) ListFleetHosts(ctx context.Context, r *daemonv1.ListFleetHostsRequest) (*daemonv1.ListFleetHostsResponse, error) {
	f, err := in.fleet()
	if err != nil {
		return nil, err
	}
	v, err := f.View(ctx, r.GetOn())
	return control.Message[daemonv1.ListFleetHostsResponse](&v), err
}

func (in *membership) ListFleetTools(context.Context, *daemonv1.ListFleetToolsRequest) (*daemonv1.ListFleetToolsResponse, error) {
	f, err := in.fleet()
	if err != nil {
		return nil, err
	}
	return &daemonv1.ListFleetToolsResponse{Tools: control.Messages[daemonv1.FleetTool](f.Tools())}, nil
}

func (in *membership) DrainHost(ctx context.Context, r *daemonv1.DrainHostRequest) (*daemonv1.DrainHostResponse, error) {
	action := map[bool]string{false: "fleet drain", true: "fleet drain --off"}[r.GetResume()]
	f, err := in.fleet()
	if err == nil {
		err = f.Drain(ctx, r.GetName(), !r.GetResume())
	}
	if err == nil && r.GetWait() {
		err = f.Drained(ctx, r.GetName(), time.Duration(r.GetTimeoutMs())*time.Millisecond)
	}
	return &daemonv1.DrainHostResponse{}, control.Record(ctx, in.daemon, audit.Record{Action: action, Object: r.GetName()}, err)
}
