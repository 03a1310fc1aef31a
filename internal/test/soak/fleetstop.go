package main

import (
	"context"
	"syscall"
	"time"

	"github.com/toolhost/toolhost/internal/deadline"
)

// stop has the host's process do nothing for a while, as if its machine were cut off.
func (n *node) stop(ctx context.Context, d time.Duration) error {
	if err := n.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		return err
	}
	deadline.Sleep(ctx, d)
	return n.cmd.Process.Signal(syscall.SIGCONT)
}
