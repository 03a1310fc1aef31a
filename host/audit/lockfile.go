package audit

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/toolhost/toolhost/internal/safefile"
)

// lockSuffix is what the lock file's name has after the log's. Writers lock this file, which
// has mode 0600, and not the log: any reader of the log could lock that too, and delay every
// call.
const lockSuffix = ".lock"

// lockFile is the file whose lock the writer of a log holds.
type lockFile struct {
	path string
	file *os.File // nil: not open
	// generation counts the files that were begun, and is the size of the lock file: who locks it looks at it anyway, and so
	// learns that the log's file is another one without a look at its path.
	generation int64
}

// lock locks the file, and makes it if it is missing. If it was removed or replaced, lock
// locks the file that is there now.
func (l *lockFile) lock(deadline time.Time) error {
	for range maxExchanges {
		if err := l.open(); err != nil {
			return fmt.Errorf("its lock file %s cannot be used: %w", l.path, err)
		}
		if err := safefile.Lock(l.file, safefile.Exclusive, deadline); err != nil {
			return err
		}
		// Looking at the path would double the cost of the lock.
		now, err := conditionOf(l.file)
		if l.generation = now.size; now.named || err != nil {
			return err
		}
		l.close()
	}
	return errors.New("its lock file is replaced again and again")
}

func (l *lockFile) open() error {
	if l.file != nil {
		return nil
	}
	var err error
	l.file, err = create(l.path)
	return err
}

// create opens a file, and makes it and its directory if they are missing.
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

// maxGeneration bounds the size of a lock file, which has no content.
const maxGeneration = 1 << 20

// begin tells other writers that the log's file becomes another one. The lock is held.
func (l *lockFile) begin() error {
	l.generation = (l.generation + 1) % maxGeneration
	return l.file.Truncate(l.generation)
}

// unlock unlocks the file, which cannot fail if it is open.
func (l *lockFile) unlock() {
	if l.file != nil {
		_ = safefile.Unlock(l.file)
	}
}

// close closes the file, which also unlocks it.
func (l *lockFile) close() {
	if l.file != nil {
		_ = l.file.Close()
		l.file = nil
	}
}

// lockedHint says what to do about [safefile.ErrLocked].
func lockedHint(path string) string {
	return "look for a process that is stopped and has " + path + lockSuffix + " open, as fuser shows"
}
