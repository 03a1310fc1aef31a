package audit

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/toolhost/toolhost/internal/safefile"
)

// lockSuffix follows the log's name in that of its lock file. Writers lock this
// file, which has mode 0600, and not the log: whoever may read the log could
// lock it too, and hold up every call.
const lockSuffix = ".lock"

// lockFile is the file whose lock the writer of a log holds.
type lockFile struct {
	path string
	file *os.File // nil: not open
}

// take locks the file, which is made where it is missing. Where it was removed, or
// another put in its place, the one that is there now is locked.
func (l *lockFile) take(deadline time.Time) error {
	for range maxTurns {
		if err := l.open(); err != nil {
			return fmt.Errorf("its lock file %s cannot be used: %w", l.path, err)
		}
		if err := safefile.Lock(l.file, safefile.Exclusive, deadline); err != nil {
			return err
		}
		if there, err := isNamed(l.file, l.path); there || err != nil {
			return err
		}
		l.close()
	}
	return errors.New("others exchange its lock file all the time")
}

func (l *lockFile) open() error {
	if l.file != nil {
		return nil
	}
	var err error
	l.file, err = create(l.path)
	return err
}

// create opens a file, and makes it and its directory where they are missing.
func create(path string) (*os.File, error) {
	const how = os.O_RDWR | os.O_CREATE
	file, _, err := safefile.Open(path, how)
	if isMissing(err) {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return nil, err
		}
		file, _, err = safefile.Open(path, how)
	}
	return file, err
}

// release cannot fail for a file that is open.
func (l *lockFile) release() {
	if l.file != nil {
		_ = safefile.Unlock(l.file)
	}
}

// close ends the use of the file, and the lock.
func (l *lockFile) close() {
	if l.file != nil {
		_ = l.file.Close()
		l.file = nil
	}
}

// olderPatience bounds the wait for a process of an older version, see [share].
const olderPatience = time.Millisecond

// share locks a log as readers did in older versions, whose writers lock the log
// itself and not the lock file: they are kept out, and readers keep nobody out. An
// older writer holds its lock for microseconds, so that a lock which lasts is not
// one of theirs, and does not stop the log.
func share(log *os.File) { _ = safefile.Lock(log, safefile.Shared, time.Now().Add(olderPatience)) }

// lockedHint says what to do about safefile.ErrLocked.
func lockedHint(path string) string {
	return "look for a process that is stopped and has " + path + lockSuffix + " open, as fuser shows"
}
