package fleet_test

import (
	"context"
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
	join(t, s.config("b", share("*")), says("risky", "done", func(d *tool.Definition) { d.Safety = tool.Dangerous }))
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
	decided <- policy.Decision{Verdict: policy.Deny}
	require.Eventually(t, "the task has ended", func() bool {
		now, err := store.Get(t.Context(), ann, begun.ID)
		return err == nil && now.State == task.Ended && now.End.Outcome.Error != nil && now.End.Outcome.Error.Code == tool.CodeApprovalDenied
	})
}
