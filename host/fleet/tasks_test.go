package fleet_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/fleet"
	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/host/task"
	"github.com/toolhost/toolhost/internal/durable"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// The caller of a durable tool gets its task while the call still waits for an approval.
func TestTaskOfCallThatWaitsForApproval(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	yes := policy.ApproverFunc(func(context.Context, policy.Request) (policy.Decision, error) {
		return policy.Decision{Verdict: policy.Allow}, nil
	})
	join(t, s.config("b", share("*"), func(c *fleet.Config) {
		c.Accept = func(fleet.Caller) ([]host.SessionOption, error) {
			return []host.SessionOption{host.WithApprover(yes)}, nil
		}
	}), says("risky", "done", func(d *tool.Definition) { d.Safety = tool.Dangerous }))
	a := join(t, s.config("a", mount("*"), lasting(durable.AtMostOnce, "*")))
	require.Eventually(t, "the tool", func() bool { return a.has("risky") })
	decided := make(chan policy.Decision, 1)
	ann := a.Session(host.WithCaller(host.Caller{Name: "ann"}), host.WithApprover(policy.ApproverFunc(
		func(ctx context.Context, _ policy.Request) (policy.Decision, error) {
			select {
			case d := <-decided:
				return d, nil
			case <-ctx.Done():
				return policy.Decision{}, ctx.Err()
			}
		})))
	memory := task.NewMemory(task.MemoryOptions{})
	t.Cleanup(func() { _ = memory.Close(context.Background()) })
	store := fleet.Tasks(memory, func() *fleet.Fleet { return a.Fleet })
	ctx, cancel := context.WithTimeout(t.Context(), 20*2*time.Second)
	defer cancel()
	begun, err := store.Start(ctx, task.Call{Session: ann, Tool: "risky"})
	if err != nil || begun.State != task.Working || ctx.Err() != nil {
		t.Fatalf("%+v %v, %v", begun, err, ctx.Err())
	}
	waits := func(id string) bool {
		c, err := a.GetCall(t.Context(), id)
		return err == nil && c.State == durable.StateWaiting && c.Caller == "ann"
	}
	require.Eventually(t, "it is stored", func() bool { return waits(begun.ID) })
	decided <- policy.Decision{Verdict: policy.Deny}
	require.Eventually(t, "the task has ended", func() bool {
		now, err := store.Get(t.Context(), ann, begun.ID)
		return err == nil && now.State == task.Ended && now.End.Outcome.Error != nil && now.End.Outcome.Error.Code == tool.CodeApprovalDenied
	})
	c, err := a.WaitCall(t.Context(), begun.ID)
	if err != nil || c.State != durable.StateFailed || c.Error.Code != tool.CodeApprovalDenied || c.Attempts != 0 {
		t.Errorf("the call is %+v %v", c, err)
	}

	// The process ends meanwhile: another one asks again, and without its yes the call does not run.
	begun = require.Must(store.Start(ctx, task.Call{Session: ann, Tool: "risky"}))(t)
	require.Eventually(t, "it is stored", func() bool { return waits(begun.ID) })
	require.NoError(t, memory.Close(ctx))
	memory = task.NewMemory(task.MemoryOptions{})
	store = fleet.Tasks(memory, func() *fleet.Fleet { return a.Fleet })
	if now, err := store.Get(ctx, ann, begun.ID); err != nil || now.State != task.Working || !waits(begun.ID) {
		t.Errorf("it is %+v %v", now, err)
	}
	require.Must(store.Start(ctx, task.Call{ID: begun.ID, Session: ann, Tool: "risky"}))(t)
	decided <- policy.Decision{Verdict: policy.Modify, Arguments: json.RawMessage(`{}`)}
	if c, err := a.WaitCall(ctx, begun.ID); err != nil || c.State != durable.StateDone || c.Attempts != 1 {
		t.Errorf("after the yes it is %+v %v", c, err)
	}
}
