package workspace

import (
	"context"
	"errors"
	"os"
	"time"

	"github.com/toolhost/toolhost/internal/safefile"
)

// lockWait is for how long a change waits for other processes. Whoever can read a directory can lock it, other users
// too, and must not keep changes from being made: then a change goes on, and the comparison alone sees those of others.
const lockWait = 2 * time.Second

// lock keeps other processes that use this package from changing what is in a directory, until unlock is called: fs and
// buffer, and those of other hosts. A file system without locks has none. It is taken before commitMu.
func lock(ctx context.Context, dir *os.Root) (unlock func()) {
	f, err := dir.Open(".")
	if err != nil {
		return func() {}
	}
	for end := time.Now().Add(lockWait); ctx.Err() == nil && time.Now().Before(end); {
		if err := safefile.Lock(f, safefile.Exclusive, time.Now().Add(lockWait/100)); !errors.Is(err, safefile.ErrLocked) {
			break
		}
	}
	return func() { _ = f.Close() } // which unlocks it
}
