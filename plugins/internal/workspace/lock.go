package workspace

import (
	"context"
	"errors"
	"os"
	"time"

	"github.com/toolhost/toolhost/internal/safefile"
)

// lockWait is for how long a change waits for other processes.
const lockWait = 10 * time.Second

// lock keeps other processes that use this package from changing what is in a directory, until unlock is called: fs and
// buffer, and those of other hosts. A file system without locks has none. It is taken before commitMu.
//
// # Errors
//
// [safefile.ErrLocked] after [lockWait], and the context's.
func (w *Workspace) lock(ctx context.Context, given string, dir *os.Root) (unlock func(), err error) {
	f, err := dir.Open(".")
	if err != nil {
		return nil, w.Explain(given, err)
	}
	for end := time.Now().Add(lockWait); ; {
		err := safefile.Lock(f, safefile.Exclusive, time.Now().Add(lockWait/100))
		switch {
		case !errors.Is(err, safefile.ErrLocked):
			return func() { _ = f.Close() }, nil // which unlocks it
		case ctx.Err() != nil:
			_ = f.Close()
			return nil, ctx.Err()
		case time.Now().After(end):
			_ = f.Close()
			return nil, newFault(err, "the directory of %s is kept by another process; nothing was changed (try later)", Show(given))
		}
	}
}
