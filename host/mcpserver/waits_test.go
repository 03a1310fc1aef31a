package mcpserver_test

import (
	"context"
	"encoding/json"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/mcpserver"
	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// A client that gives up a minute after it heard of its call last has the answer of a person who takes four, and then
// the progress of the tool.
func TestCallThatWaitsForApproval(t *testing.T) {
	t.Parallel()
	everyWayInTime(t, func(t *testing.T, w way) {
		const takes, patience = 4 * time.Minute, time.Minute
		h := newHost(t)
		require.NoError(t, h.Register(tool.Tool{
			Definition: tool.Definition{Name: "t.rm", Description: "Removes.", Safety: tool.Dangerous},
			Handler: func(ctx context.Context, _ tool.Call) (tool.Result, error) {
				tool.Report(ctx, tool.Progress{Done: 0.25, Total: 1})
				return tool.Text("removed"), nil
			},
		}))
		s := serve(t, h, mcpserver.Options{}, host.WithApprover(policy.ApproverFunc(
			func(context.Context, policy.Request) (policy.Decision, error) {
				time.Sleep(takes)
				return policy.Decision{Verdict: policy.Allow}, nil
			})))
		ctx, giveUp := context.WithCancel(t.Context())
		late := time.AfterFunc(patience, giveUp)
		var done []float64
		var said []string
		c := w.connect(t, s, &mcp.ClientOptions{
			ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
				late.Reset(patience)
				done, said = append(done, r.Params.Progress), append(said, r.Params.Message)
			},
		})
		p := &mcp.CallToolParams{Name: "t_rm", Arguments: json.RawMessage(`{}`)}
		p.SetProgressToken("token")
		res, err := c.CallTool(ctx, p)
		if err != nil || text(res) != "removed" {
			t.Fatalf("%+v, %v", res, err)
		}
		synctest.Wait() // for what came with the answer
		waits := int(takes/(15*time.Second)) - 1
		if len(said) < waits || said[0] != "waits for approval" || !slices.IsSorted(done) || done[len(done)-1] != 0.25 {
			t.Errorf("it was told %v, %q", done, said)
		}
	})
}
