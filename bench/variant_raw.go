package main

import (
	"bufio"
	"context"
	"fmt"
	"os/exec"
	"path/filepath"

	"github.com/toolhost/toolhost/bench/internal/raw"
)

// startRaw starts a child that answers on a Unix socket.
func startRaw(ctx context.Context, b *bench) (*variant, error) {
	socket := filepath.Join(b.dir, "raw.sock")
	cmd := exec.Command(b.binary("raw"), socket) //nolint:noctx // it outlives ctx
	lifeline, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	defer context.AfterFunc(ctx, func() { _ = cmd.Process.Kill() })()
	end := func() {
		_ = lifeline.Close()
		_ = cmd.Wait()
	}
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		end()
		return nil, fmt.Errorf("it did not say that it is ready: %w", err)
	}
	dial := func(ctx context.Context) (call, error) {
		c, err := raw.Dial(ctx, socket)
		if err != nil {
			return nil, err
		}
		return c.Call, nil
	}
	return &variant{pid: cmd.Process.Pid, dial: dial, close: end}, nil
}
