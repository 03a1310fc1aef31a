package session

import (
	"context"
	"fmt"
	"sync"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/output"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/setup"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/terminal"
	"github.com/toolhost/toolhost/host/policy"
)

// Askers returns who can be asked about calls that this process runs itself, other than for the
// person who typed a command: the client of the call, the terminal of the process if it has one when
// the question comes, and the queue of a daemon if one runs then with the same settings.
func (s *Session) Askers(client policy.Approver) setup.Askers {
	turn := make(chan struct{}, 1) // one question at a time
	return setup.Askers{
		Client: client,
		Queue:  s.queue(),
		Terminal: policy.ApproverFunc(func(ctx context.Context, r policy.Request) (policy.Decision, error) {
			select {
			case turn <- struct{}{}:
				defer func() { <-turn }()
			case <-ctx.Done():
				return policy.Decision{}, context.Cause(ctx)
			}
			t, err := s.OpenTerminal()
			if err != nil {
				return policy.Decision{}, fmt.Errorf("toolhost has no terminal here: %w", policy.ErrCannotAsk)
			}
			defer func() { _ = t.Close() }()
			if !t.Foreground() { // a read would stop this process, and with it all other calls
				return policy.Decision{}, fmt.Errorf("toolhost is in the background of its terminal: %w", policy.ErrCannotAsk)
			}
			return terminal.Approver{Terminal: t, Colored: output.ColorWelcome()}.Approve(ctx, r)
		}),
	}
}

// queue returns an approver that puts questions into the queue of a daemon, if one runs.
func (s *Session) queue() policy.Approver {
	var mu sync.Mutex // a session is for one goroutine
	return policy.ApproverFunc(func(ctx context.Context, r policy.Request) (policy.Decision, error) {
		mu.Lock()
		d := s.Daemon(ctx)
		mu.Unlock()
		if d == nil {
			return policy.Decision{}, fmt.Errorf("no daemon runs that could keep the question: %w", policy.ErrCannotAsk)
		}
		return d.Queue().Approve(ctx, r)
	})
}
