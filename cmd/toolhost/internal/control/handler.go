package control

import (
	"context"
	"time"

	"connectrpc.com/connect"

	"github.com/toolhost/toolhost/host/audit"
	"github.com/toolhost/toolhost/internal/journal"
	"github.com/toolhost/toolhost/pluginsdk/tool"
	daemonv1 "github.com/toolhost/toolhost/proto/toolhost/daemon/v1"
)

// handler serves the API: what a daemon serves itself, and what needs to know of the calls in progress.
type handler struct {
	Daemon
	*Server
}

var _ daemonv1.DaemonHandler = handler{}

// Record puts on record what a request had the daemon do, and returns the outcome.
func Record(ctx context.Context, d Daemon, of audit.Record, outcome error) error {
	who := requestOf(ctx)
	of.Via, of.Caller, of.UID = who.via(), who.caller.Name, &who.peer.uid
	d.Record(of, outcome)
	return outcome
}

func (h handler) GetState(context.Context, *daemonv1.GetStateRequest) (*daemonv1.GetStateResponse, error) {
	state := h.State()
	h.mu.Lock()
	state.Draining = h.draining
	h.mu.Unlock()
	state.Approvals = h.Approvals().Len()
	return &daemonv1.GetStateResponse{State: Message[daemonv1.State](&state)}, nil
}

// Watch goes on as lines and events come if the client asks for it. A client that reads too slowly misses
// lines, as the numbers tell: the daemon keeps nothing for it.
func (h handler) Watch(ctx context.Context, r *daemonv1.WatchRequest, out *connect.ServerStream[daemonv1.WatchResponse]) error {
	if r.GetActivityMs() > 0 {
		return h.activity(ctx, max(leastPace, time.Duration(r.GetActivityMs())*time.Millisecond), out)
	}
	news, stop, err := h.news(r)
	if err != nil {
		return refusal(err)
	}
	defer stop()
	end, err := h.beginReading()
	if err != nil {
		return refusal(err)
	}
	defer end()
	for {
		entries, more := news()
		for _, e := range entries {
			if e.Time.Before(r.GetSince().AsTime()) || r.GetEvents() && r.GetPlugin() != "" && e.Plugin != r.GetPlugin() {
				continue
			}
			sent := Message[daemonv1.Line](&e)
			sent.Host = e.Event != ""
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

// news returns a function that returns what is new of what is wanted, and a channel that is closed when there may be
// more. Events come from the files, as other processes and earlier daemons wrote them, too.
func (h handler) news(r *daemonv1.WatchRequest) (news func() ([]journal.Entry, <-chan struct{}), stop func(), err error) {
	of, last := h.Journal(r.GetPlugin()), uint64(0)
	if r.GetEvents() {
		of = h.Journal("")
	} else if of == nil || r.GetPlugin() == "" {
		return nil, nil, tool.Errorf(tool.CodeNotFound, "there is no plugin %.64q", r.GetPlugin()).
			Fix("see toolhost plugins for the names")
	}
	if dir := of.Dir(); dir != "" && r.GetEvents() {
		files := journal.NewReader(dir)
		files.Events, files.Plugin, files.Since = true, r.GetPlugin(), r.GetSince().AsTime()
		return func() ([]journal.Entry, <-chan struct{}) {
			more := make(chan struct{})
			time.AfterFunc(journal.Pace, func() { close(more) })
			newest, _ := files.Newest(1000) // what cannot be read is not there
			return newest, more
		}, files.Close, nil
	}
	return func() ([]journal.Entry, <-chan struct{}) {
		entries, more := of.Since(last)
		if len(entries) > 0 {
			last = entries[len(entries)-1].Number
		}
		return entries, more
	}, func() {}, nil
}

// leastPace is how often an Activity is sent at most.
const leastPace = 250 * time.Millisecond

// activity sends what the daemon does, now and at each pace. Nothing is kept for a client that does not read
// but sums.
func (h handler) activity(ctx context.Context, pace time.Duration, out *connect.ServerStream[daemonv1.WatchResponse]) error {
	end, err := h.beginReading()
	if err != nil {
		return refusal(err)
	}
	defer end()
	watch, tick := h.Look(), time.NewTicker(pace)
	defer watch.Close()
	defer tick.Stop()
	for {
		if err := out.Send(&daemonv1.WatchResponse{Event: &daemonv1.WatchResponse_Activity{Activity: watch.Next()}}); err != nil {
			return err // the client is gone
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		case <-h.ending:
			return nil
		}
	}
}

func (h handler) WaitDurableCall(ctx context.Context, r *daemonv1.WaitDurableCallRequest) (*daemonv1.WaitDurableCallResponse, error) {
	run := newRunningCall(ctx, h.Server, nil)
	if err := h.addCall(run); err != nil {
		run.cancel(nil)
		return nil, err
	}
	defer h.removeCall(run)
	if err := h.park(run); err != nil {
		return nil, err
	}
	return &daemonv1.WaitDurableCallResponse{Ended: h.WaitDurable(run.ctx, run.caller, r.GetId()).sent()}, nil // it can be asked for again
}
