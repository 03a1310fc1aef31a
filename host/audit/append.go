package audit

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// maxTurns bounds how often a file may be exchanged by others before an append
// comes to its turn.
const maxTurns = 1000

// append writes one line, whose record is encoded already, behind the last one
// by whomever. The caller holds mu.
func (f *File) append(body []byte, deadline time.Time) error {
	for range maxTurns {
		size, err := f.acquire(deadline)
		if err != nil {
			return err
		}
		if err := f.catchUp(size); err != nil {
			f.release()
			return err
		}
		next := f.compose(body)
		if f.size == 0 || f.opts.MaxSize < 0 || f.size+int64(len(f.line)) <= f.opts.MaxSize {
			defer f.release()
			return f.put(next)
		}
		if err := f.rotate(); err != nil {
			f.release()
			return fmt.Errorf("a new file cannot be begun: %w", err)
		}
	}
	return errors.New("others exchange the file all the time")
}

// acquire opens the file, if it is not open, and locks it. Where another
// process has exchanged it, the new one is opened.
func (f *File) acquire(deadline time.Time) (size int64, err error) {
	for range maxTurns {
		if f.at == nil {
			file, err := openRegular(f.path, os.O_RDWR|os.O_CREATE)
			if isMissing(err) {
				if err := os.MkdirAll(filepath.Dir(f.path), 0o700); err != nil {
					return 0, err
				}
				continue
			}
			if err != nil {
				return 0, err
			}
			f.at, f.size = &handle{File: file}, -1
		}
		if err := lock(f.at.File, true, deadline); err != nil {
			return 0, err
		}
		info, same, err := isAt(f.path, f.at.File)
		if err != nil {
			f.release()
			return 0, err
		}
		if same {
			return info.Size(), nil
		}
		if err := f.retire(); err != nil {
			return 0, err
		}
	}
	return 0, errors.New("others exchange the file all the time")
}

// release gives the lock back. It cannot fail for a file that is open.
func (f *File) release() {
	if f.at != nil {
		_ = unlock(f.at.File)
	}
}

// catchUp learns what the log ends with, if others have written since. Size is
// what the file has.
func (f *File) catchUp(size int64) (err error) {
	if size > 0 && size == f.size {
		return nil
	}
	f.size = -1
	f.oldest, f.victims = 0, nil
	var e ending
	if size > 0 {
		e, err = readEnding(f.at.File, size)
	} else {
		e, err = f.before()
	}
	if err != nil {
		return err
	}
	// What was written and is no more was cut off. Going on from there shows it.
	if e.last.seq >= f.last.seq {
		f.last = e.last
	}
	f.size, f.torn, f.unended = size, e.torn, e.unended
	return nil
}

// compose makes the next line.
func (f *File) compose(body []byte) link {
	next := link{seq: f.last.seq + 1, prev: f.last.hash, torn: f.torn, oldest: f.oldest}
	f.line = f.line[:0]
	if f.unended {
		f.line = append(f.line, '\n')
	}
	f.line = next.appendLine(f.line, body)
	return next
}

// put writes the line that was composed, all of it or nothing.
func (f *File) put(next link) error {
	if _, err := f.writeAt(f.at.File, f.line, f.size); err != nil {
		// Where even this fails, the next line says so.
		if undo := f.at.Truncate(f.size); undo != nil {
			f.size = -1
		}
		return err
	}
	f.last, f.torn, f.unended, f.oldest = next, sum{}, false, 0
	f.size += int64(len(f.line))
	// What stays undeleted is no harm, and the next file's turn.
	for _, path := range f.victims {
		_ = os.Remove(path)
	}
	f.victims = nil
	return nil
}

// lock waits until the file is locked. It asks again and again, as a wait
// inside of flock would have no end if another process was stopped.
func lock(f *os.File, alone bool, deadline time.Time) error {
	const shortest, longest = 50 * time.Microsecond, 5 * time.Millisecond
	for wait := shortest; ; wait = min(2*wait, longest) {
		ok, err := tryLock(f, alone)
		if err != nil {
			return fmt.Errorf("it cannot be locked: %w", err)
		}
		if ok {
			return nil
		}
		if time.Now().After(deadline) {
			return errLocked
		}
		time.Sleep(wait)
	}
}

var errLocked = errors.New("another process keeps it locked; look for one that is stopped")

// isMissing reports whether there is no such file.
func isMissing(err error) bool { return errors.Is(err, fs.ErrNotExist) }
