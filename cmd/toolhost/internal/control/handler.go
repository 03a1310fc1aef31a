package control

import (
	"context"

	"connectrpc.com/connect"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/audit"
	"github.com/toolhost/toolhost/pluginsdk/tool"
	daemonv1 "github.com/toolhost/toolhost/proto/toolhost/daemon/v1"
)

// handler serves the API but for calls and questions to the operator.
type handler struct{ *Server }

var _ daemonv1.DaemonHandler = handler{}

// record puts on record what a request had the daemon do, and returns the outcome.
func (s *Server) record(ctx context.Context, of audit.Record, outcome error) error {
	who := requestOf(ctx).peer
	of.Via, of.Caller, of.UID = "socket", callerOf(ctx).Name, &who.uid
	s.service.Record(of, outcome)
	return outcome
}

func (h handler) GetState(context.Context, *daemonv1.GetStateRequest) (*daemonv1.GetStateResponse, error) {
	state := h.service.State()
	h.mu.Lock()
	state.Draining = h.draining
	h.mu.Unlock()
	state.Approvals = h.service.Approvals().Len()
	out := &daemonv1.GetStateResponse{State: &daemonv1.State{}}
	convert(out.State, &state)
	return out, nil
}

func (h handler) ListTools(ctx context.Context, r *daemonv1.ListToolsRequest) (*daemonv1.ListToolsResponse, error) {
	var found []host.Tool
	if r.GetName() != "" {
		if t, ok := h.service.Get(callerOf(ctx), r.GetName()); ok {
			found = append(found, t)
		}
	} else {
		level, err := tool.ParseSafety(r.GetMaxSafety())
		if err != nil {
			return nil, err
		}
		found = h.service.Tools(callerOf(ctx), host.Filter{MaxSafety: level, Categories: r.GetCategories(), Search: r.GetSearch()})
	}
	out := &daemonv1.ListToolsResponse{Tools: all[daemonv1.Tool](found)}
	for i := range found {
		out.Tools[i].Claimed = &daemonv1.Definition{}
		convert(out.Tools[i].Claimed, &found[i].Claimed)
	}
	return out, nil
}

func (h handler) ListSessions(ctx context.Context, _ *daemonv1.ListSessionsRequest) (*daemonv1.ListSessionsResponse, error) {
	return &daemonv1.ListSessionsResponse{Sessions: all[daemonv1.Session](h.service.Sessions(callerOf(ctx)))}, nil
}

func (h handler) EndSession(ctx context.Context, r *daemonv1.EndSessionRequest) (*daemonv1.EndSessionResponse, error) {
	return &daemonv1.EndSessionResponse{}, h.service.EndSession(callerOf(ctx), r.GetName())
}

func (h handler) RestartPlugin(ctx context.Context, r *daemonv1.RestartPluginRequest) (*daemonv1.RestartPluginResponse, error) {
	err := h.service.RestartPlugin(ctx, r.GetName())
	return &daemonv1.RestartPluginResponse{}, h.record(ctx, audit.Record{Action: "plugins restart", Object: r.GetName()}, err)
}

// The command that sends it puts it on record, as it does ApplyPlugin and Refresh.
func (h handler) RollbackPlugin(ctx context.Context, r *daemonv1.RollbackPluginRequest) (*daemonv1.RollbackPluginResponse, error) {
	return &daemonv1.RollbackPluginResponse{}, h.service.RollbackPlugin(ctx, r.GetName())
}

func (h handler) ApplyPlugin(ctx context.Context, r *daemonv1.ApplyPluginRequest) (*daemonv1.ApplyPluginResponse, error) {
	return &daemonv1.ApplyPluginResponse{}, h.service.ApplyPlugin(ctx, r.GetName())
}

func (h handler) GetSandbox(_ context.Context, r *daemonv1.GetSandboxRequest) (*daemonv1.GetSandboxResponse, error) {
	out := &daemonv1.GetSandboxResponse{}
	if status, ok := h.service.Sandbox(r.GetName()); ok {
		out.Sandbox = &daemonv1.Sandbox{}
		convert(out.Sandbox, &status)
	}
	return out, nil
}

// Watch goes on as lines are added if the client asks for it. A client that reads too slowly misses
// lines, as the numbers tell: the daemon keeps nothing for it.
func (h handler) Watch(ctx context.Context, r *daemonv1.WatchRequest, out *connect.ServerStream[daemonv1.WatchResponse]) error {
	journal := h.service.Journal(r.GetPlugin())
	if journal == nil {
		return refusal(tool.Errorf(tool.CodeNotFound, "there is no plugin %.64q", r.GetPlugin()).
			Fix("see toolhost plugins for the names"))
	}
	end, err := h.beginReading()
	if err != nil {
		return refusal(err)
	}
	defer end()
	for last := uint64(0); ; {
		lines, more := journal.Since(last)
		for _, line := range lines {
			last = line.Number
			sent := &daemonv1.Line{}
			convert(sent, &line)
			if err := out.Send(&daemonv1.WatchResponse{Event: &daemonv1.WatchResponse_Line{Line: sent}}); err != nil {
				return err // the client is gone
			}
		}
		if !r.GetFollow() {
			return nil
		}
		select {
		case <-more:
		case <-ctx.Done():
			return nil
		case <-h.ending:
			return nil
		}
	}
}

func (h handler) ListWaiting(context.Context, *daemonv1.ListWaitingRequest) (*daemonv1.ListWaitingResponse, error) {
	return &daemonv1.ListWaitingResponse{Files: all[daemonv1.WaitingFile](h.service.Waiting())}, nil
}

func (h handler) Reload(ctx context.Context, r *daemonv1.ReloadRequest) (*daemonv1.ReloadResponse, error) {
	err := h.service.Reload(ctx, r.GetAccept())
	return &daemonv1.ReloadResponse{}, h.record(ctx, audit.Record{Action: "reload"}, err)
}

func (h handler) Refresh(ctx context.Context, _ *daemonv1.RefreshRequest) (*daemonv1.RefreshResponse, error) {
	return &daemonv1.RefreshResponse{}, h.service.Refresh(ctx)
}

func (h handler) Stop(ctx context.Context, _ *daemonv1.StopRequest) (*daemonv1.StopResponse, error) {
	_ = h.record(ctx, audit.Record{Action: "stop"}, nil)
	return &daemonv1.StopResponse{DrainMs: h.service.Stop().Milliseconds()}, nil
}

func (h handler) ListFleetHosts(context.Context, *daemonv1.ListFleetHostsRequest) (*daemonv1.ListFleetHostsResponse, error) {
	f, err := h.service.Fleet()
	if err != nil {
		return nil, err
	}
	return &daemonv1.ListFleetHostsResponse{Hosts: all[daemonv1.FleetHost](f.Hosts())}, nil
}

func (h handler) ListFleetTools(context.Context, *daemonv1.ListFleetToolsRequest) (*daemonv1.ListFleetToolsResponse, error) {
	f, err := h.service.Fleet()
	if err != nil {
		return nil, err
	}
	return &daemonv1.ListFleetToolsResponse{Tools: all[daemonv1.FleetTool](f.Tools())}, nil
}

func (h handler) DrainHost(ctx context.Context, r *daemonv1.DrainHostRequest) (*daemonv1.DrainHostResponse, error) {
	action := map[bool]string{false: "fleet drain", true: "fleet drain --off"}[r.GetResume()]
	f, err := h.service.Fleet()
	if err == nil {
		err = f.Drain(ctx, r.GetName(), !r.GetResume())
	}
	if err == nil && r.GetWait() {
		err = f.Drained(ctx, r.GetName())
	}
	return &daemonv1.DrainHostResponse{}, h.record(ctx, audit.Record{Action: action, Object: r.GetName()}, err)
}

func (h handler) ListDurableCalls(ctx context.Context, _ *daemonv1.ListDurableCallsRequest) (*daemonv1.ListDurableCallsResponse, error) {
	d, err := h.service.Durable()
	if err != nil {
		return nil, err
	}
	list, err := d.List(ctx, callerOf(ctx))
	return &daemonv1.ListDurableCallsResponse{Calls: all[daemonv1.DurableCall](list)}, err
}

func (h handler) GetDurableCall(ctx context.Context, r *daemonv1.GetDurableCallRequest) (*daemonv1.GetDurableCallResponse, error) {
	d, err := h.service.Durable()
	if err != nil {
		return nil, err
	}
	c, err := d.Get(ctx, callerOf(ctx), r.GetId())
	out := &daemonv1.GetDurableCallResponse{Call: &daemonv1.DurableCall{}}
	convert(out.Call, &c)
	return out, err
}

func (h handler) WaitDurableCall(ctx context.Context, r *daemonv1.WaitDurableCallRequest) (*daemonv1.WaitDurableCallResponse, error) {
	d, err := h.service.Durable()
	if err != nil {
		return nil, err
	}
	run := newRunningCall(ctx, h.Server, nil)
	if err := h.addCall(run); err != nil {
		run.cancel(nil)
		return nil, err
	}
	defer h.removeCall(run)
	if err := h.park(run); err != nil {
		return nil, err
	}
	return &daemonv1.WaitDurableCallResponse{Ended: d.Wait(run.ctx, run.caller, r.GetId()).sent()}, nil // it can be asked for again
}

func (h handler) CancelDurableCall(ctx context.Context, r *daemonv1.CancelDurableCallRequest) (*daemonv1.CancelDurableCallResponse, error) {
	d, err := h.service.Durable()
	if err == nil {
		err = d.Cancel(ctx, callerOf(ctx), r.GetId())
	}
	return &daemonv1.CancelDurableCallResponse{}, err
}
