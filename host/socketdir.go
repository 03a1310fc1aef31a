package host

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"time"

	"github.com/toolhost/toolhost/internal/confine"
	"github.com/toolhost/toolhost/internal/tree"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Bounds of the work on directories in which others may be busy.
const (
	sweepTime  = 5 * time.Second // of looking for what killed hosts left
	sweepGrace = time.Second     // and when the host closes
	removeTime = 2 * time.Second // of removing the host's own directory
)

// socketDir is a private directory that the host made.
type socketDir struct {
	path string
	made fs.FileInfo
}

func makeSocketDir(base string) (*socketDir, error) {
	path, err := os.MkdirTemp(base, confine.DirPrefix+"*")
	if err != nil {
		return nil, err
	}
	made, err := os.Lstat(path)
	if err != nil {
		return nil, errors.Join(err, os.Remove(path))
	}
	d := &socketDir{path, made}
	if err := confine.Claim(path); err != nil {
		return nil, errors.Join(err, d.remove())
	}
	return d, nil
}

// isThere reports whether the directory is what its path leads to, and still private.
func (d *socketDir) isThere() bool {
	now, err := os.Lstat(d.path)
	return err == nil && os.SameFile(now, d.made) && now.Mode() == d.made.Mode()
}

// remove removes the directory. What stands in its place by now is not the host's. It has
// time of its own: what is left would be there until the next host's sweep.
func (d *socketDir) remove() error {
	if now, err := os.Lstat(d.path); err != nil || !os.SameFile(now, d.made) {
		return nil // it is gone
	}
	bound, cancel := context.WithTimeoutCause(context.Background(), removeTime, fmt.Errorf("it still grows after %v", removeTime))
	defer cancel()
	return tree.Remove(bound, d.path, d.made)
}

// sockets is the path of a private directory for plugins' sockets: a short one, as a
// socket's address holds about 100 bytes. Where a plugin, or a program that cleans up
// the directory for temporary files, has removed it, another one is made.
func (h *Host) sockets(owner string) (string, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed.Load() { // nobody would remove it
		return "", closedError(owner)
	}
	if h.socketDir != nil && h.socketDir.isThere() {
		return h.socketDir.path, nil
	}
	base := os.TempDir()
	if len(base) > 40 && runtime.GOOS != "windows" {
		base = "/tmp"
	}
	h.sweep(base)
	dir, err := makeSocketDir(base)
	if err != nil {
		hint := "check that this user may write to " + base + ", or name another directory with TMPDIR"
		if _, there := os.Stat(base); there == nil && !errors.Is(err, fs.ErrPermission) {
			hint = "make space in " + base
		}
		return "", &tool.Error{
			Code: tool.CodeUnavailable, Plugin: owner, Stage: tool.StageStart, Unsent: true, Err: err,
			Message: fmt.Sprintf("plugin %s did not start: no directory for its socket: %v", owner, err), Hint: hint,
		}
	}
	h.socketDir = dir
	return dir.path, nil
}

// sweep looks in the background, once, for what hosts that were killed left. The lock is
// held.
func (h *Host) sweep(base string) {
	if h.swept != nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), sweepTime)
	stop := context.AfterFunc(h.life, func() { time.AfterFunc(sweepGrace, cancel) })
	done := make(chan struct{})
	h.swept = done
	go func() {
		defer close(done)
		defer cancel()
		defer stop()
		confine.Sweep(ctx, base)
	}()
}

// awaitSweep waits for the sweep, but not for a system call that does not return.
func (h *Host) awaitSweep(ctx context.Context) {
	h.mu.Lock()
	swept := h.swept
	h.mu.Unlock()
	if swept == nil {
		return
	}
	late := time.NewTimer(2 * sweepGrace)
	defer late.Stop()
	select {
	case <-swept:
	case <-ctx.Done():
	case <-late.C:
	}
}
