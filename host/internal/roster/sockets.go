package roster

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"time"

	"github.com/toolhost/toolhost/internal/callstage"
	"github.com/toolhost/toolhost/internal/cgroup"
	"github.com/toolhost/toolhost/internal/confine"
	"github.com/toolhost/toolhost/internal/safefile"
	"github.com/toolhost/toolhost/internal/tree"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Bounds of the work on directories in which other programs may be busy.
const (
	sweepDelay = time.Second     // until a host that has found nothing in the directory for temporary files looks everywhere
	sweepTime  = 5 * time.Second // looking for what killed hosts left
	sweepGrace = time.Second     // the same, after the roster begins to close
	removeTime = 2 * time.Second // removing the roster's directory
)

// socketDir is a private directory that the roster made.
type socketDir struct {
	path string
	made fs.FileInfo
}

// makeSocketDir makes the directory. With an error, it returns what is left of it, if anything is.
func makeSocketDir(base string) (left *socketDir, err error) {
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
		unremoved := d.remove()
		if unremoved == nil {
			d = nil
		}
		return d, errors.Join(err, unremoved)
	}
	return d, nil
}

// isThere reports whether the directory is what its path leads to, and still private.
func (d *socketDir) isThere() bool {
	now, err := os.Lstat(d.path)
	return err == nil && os.SameFile(now, d.made) && now.Mode() == d.made.Mode()
}

// remove removes the directory, unless another one has its path by now. Its time does not
// depend on the caller's: what is left stays until the next host's sweep.
func (d *socketDir) remove() error {
	if now, err := os.Lstat(d.path); err != nil || !os.SameFile(now, d.made) {
		return nil // it is gone
	}
	late := fmt.Errorf("the directory still grows after %v", removeTime)
	bound, cancel := context.WithTimeoutCause(context.Background(), removeTime, late)
	defer cancel()
	return tree.Remove(bound, d.path, d.made)
}

// socketDirs gives the private directory for plugins' sockets.
type socketDirs struct {
	life context.Context // ends when the roster begins to close

	mu    sync.Mutex
	dir   *socketDir    // made by the first plugin; nil: there is none
	left  []*socketDir  // that could not be made use of, nor be removed
	swept chan struct{} // closed when the sweep has ended; nil: there was none
}

// path returns the path of the directory: a short one, as a socket's address holds about
// 100 bytes. If a plugin, or a program that cleans up the directory for temporary files,
// has removed it, another one is made.
func (s *socketDirs) path(owner string) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.life.Err() != nil { // nothing would remove it
		return "", closedError(owner)
	}
	if s.dir != nil && s.dir.isThere() {
		return s.dir.path, nil
	}
	base := os.TempDir()
	if len(base) > 40 {
		base = "/tmp"
	}
	s.sweep(base)
	dir, err := makeSocketDir(base)
	if err != nil {
		if dir != nil {
			s.left = append(s.left, dir)
		}
		hint := safefile.DescriptorHint(err)
		switch {
		case hint != "":
		case safefile.IsFull(err):
			hint = "make space in " + base
		default:
			hint = "check that this user may write to " + base + ", or name another directory with TMPDIR"
		}
		return "", tool.Errorf(tool.CodeUnavailable, "plugin %s did not start: no directory for its socket: %w", owner, err).
			Of("", owner).At(callstage.Start).NeverSent().Fix(hint)
	}
	s.dir = dir
	return dir.path, nil
}

// current returns the path of the directory; empty: there is none yet.
func (s *socketDirs) current() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.dir == nil {
		return ""
	}
	return s.dir.path
}

// close removes the directories, and waits for the sweep, but not for a system call that
// does not return.
func (s *socketDirs) close(ctx context.Context) error {
	s.mu.Lock()
	all, swept := s.left, s.swept
	if s.dir != nil {
		all = append(all, s.dir)
	}
	s.dir, s.left = nil, nil
	s.mu.Unlock()
	if swept != nil {
		late := time.NewTimer(2 * sweepGrace)
		defer late.Stop()
		select {
		case <-swept:
		case <-ctx.Done():
		case <-late.C:
		}
	}
	var errs []error
	for _, dir := range all {
		errs = append(errs, dir.remove())
	}
	return errors.Join(errs...)
}

// sweep removes in the background, once, what hosts left that were killed. A host that ends before long, as
// most commands do, reads /proc of all processes only if one of those left its directory. The lock is held.
func (s *socketDirs) sweep(base string) {
	if s.swept != nil {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	stop := context.AfterFunc(s.life, func() { time.AfterFunc(sweepGrace, cancel) })
	done := make(chan struct{})
	s.swept = done
	go func() {
		defer close(done)
		defer cancel()
		defer stop()
		if !confine.Left(ctx, base) {
			select {
			case <-time.After(sweepDelay):
			case <-s.life.Done():
				return
			}
		}
		ctx, cancel := context.WithTimeout(ctx, sweepTime)
		defer cancel()
		confine.Sweep(ctx, base)
		cgroup.Find().Sweep(ctx)
	}()
}
