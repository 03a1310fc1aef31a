package mcpstdio

import (
	"context"
	"io"
	"os"
)

// Pass passes what a client says on to a connection, and what comes from there to the client, until either has
// ended. It reports whether the other end has, while the client was there. When ctx ends, it is as if the
// client had closed its end.
func Pass(ctx context.Context, in, out *os.File, to io.ReadWriteCloser) (ended bool) {
	watched, stop := context.WithCancel(context.Background())
	defer stop()
	defer func() { _ = to.Close() }()
	from := input(in, out, os.Stderr)
	left := make(chan struct{})
	go func() { // until the client has left, or this process ends
		_, _ = io.Copy(to, from)
		close(left)
	}()
	go func() {
		select {
		case <-left:
		case <-ctx.Done():
		case <-watched.Done():
			return
		}
		closeWrite(to)
		select {
		case <-deserted(watched, out):
			_ = to.Close()
		case <-watched.Done():
		}
	}()
	_, _ = io.Copy(out, to)
	select {
	case <-left:
		return false
	default:
		return ctx.Err() == nil
	}
}

// closeWrite tells the other end that nothing more comes. What it still says can be read.
func closeWrite(to any) {
	if c, ok := to.(interface{ CloseWrite() error }); ok {
		_ = c.CloseWrite()
	}
}
