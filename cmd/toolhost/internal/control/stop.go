package control

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// stopping is the answer of a daemon that ends.
type stopping struct {
	Drain tool.Duration `json:"drain"` // how long calls in progress may take
}

// How long a daemon may take to end in addition to its calls, and how often Stop looks.
const (
	stopTimeout = 20 * time.Second
	stopPace    = 20 * time.Millisecond
)

// Stop makes the daemon end, as SIGTERM does, and waits until it has given up its socket, which
// is the last thing that it does.
//
// # Errors
//
// [tool.CodeDeadlineExceeded] if it takes much longer than its calls may take; the end of ctx.
func (c *Client) Stop(ctx context.Context) error {
	var answer stopping
	if err := c.ask(ctx, http.MethodPost, "/v1/stop", nil, &answer); err != nil {
		return c.explain(err)
	}
	limit := time.Duration(answer.Drain) + stopTimeout
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("it has not ended within %v", limit))
	defer cancel()
	tick := time.NewTicker(stopPace) // there is no event for the end of another's child
	defer tick.Stop()
	for isHeld(c.path, c.state.PID) {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return tool.Errorf(tool.CodeOf(ctx.Err()),
				"the daemon (pid %d) was told to end: %v", c.state.PID, context.Cause(ctx)).Fix("see its log")
		}
	}
	return nil
}
