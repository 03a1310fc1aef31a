package mcptest

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/toolhost/toolhost/pluginsdk"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// TaskConfig is the configuration under mcp.tasks with which the tools become tasks as the suite
// wants it.
const TaskConfig = `{after: 300ms, at_once: [slow_compute, confirm_delete, multi_input, protocol_error_job], required: [failing_job]}`

// confirmForm takes what the suite answers to the tools that are tasks.
var confirmForm = json.RawMessage(`{"type":"object","properties":{"confirm":{"type":"boolean"}},"required":["confirm"]}`)

// taskTools are those that the suite's scenarios for tasks call; protocol_error_job is one of
// [Server].
func taskTools() []tool.Tool {
	return []tool.Tool{
		pluginsdk.Func("greet", "Greets.", func(_ context.Context, in struct {
			Name string `json:"name"`
		}) (tool.Result, error) {
			return tool.Text("Hello, " + in.Name + "!"), nil
		}, pluginsdk.Safe()),
		pluginsdk.Func("slow_compute", "Takes its time.", func(ctx context.Context, in struct {
			Seconds float64 `json:"seconds"`
			Label   string  `json:"label,omitempty"`
		}) (tool.Result, error) {
			return tool.Text("computed " + in.Label), pause(ctx, time.Duration(in.Seconds*float64(time.Second)))
		}, pluginsdk.Safe()),
		handled("failing_job", "Fails.", "", func(ctx context.Context, _ tool.Call) (tool.Result, error) {
			return tool.Failure("the job has failed"), pause(ctx, time.Second)
		}),
		pluginsdk.Func("confirm_delete", "Asks for a confirmation.", func(ctx context.Context, in struct {
			Filename string `json:"filename"`
		}) (tool.Result, error) {
			var yes struct{ Confirm bool }
			err := fill(ctx, "Delete "+in.Filename+"?", confirmForm, &yes)
			return tool.Text(fmt.Sprint("confirmed: ", yes.Confirm)), err
		}, pluginsdk.Safe()),
		handled("multi_input", "Asks for two confirmations at once.", "", func(ctx context.Context, _ tool.Call) (tool.Result, error) {
			answers := make(chan error, 2)
			for _, message := range []string{"Go on?", "Are you sure?"} {
				go func() {
					var yes struct{ Confirm bool }
					answers <- fill(ctx, message, confirmForm, &yes)
				}()
			}
			for range 2 {
				if err := <-answers; err != nil {
					return tool.Result{}, err
				}
			}
			return tool.Text("confirmed twice"), nil
		}),
		handled("test_tool_with_task", "Asks for a name, and then takes long.", "", func(ctx context.Context, _ tool.Call) (tool.Result, error) {
			var in struct{ Name string }
			if err := fill(ctx, "What is your name?", nameForm, &in); err != nil {
				return tool.Result{}, err
			}
			return tool.Text("Hello, " + in.Name), pause(ctx, time.Second)
		}),
	}
}

// pause returns when the time is over or the call has ended.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
