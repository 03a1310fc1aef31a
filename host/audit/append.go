package audit

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/toolhost/toolhost/internal/safefile"
)

// maxTurns bounds how often a file may be exchanged by others before an append
// comes to its turn.
const maxTurns = 1000

// append writes the lines that wait and then one more, whose record is encoded
// already, behind the last one by whomever. Body is nil where there is none. The
// caller holds mu.
func (f *File) append(body []byte, deadline time.Time) error {
	if f.stuck { // one call has waited already
		deadline = time.Time{}
	}
	err := f.gate.take(deadline)
	if err == nil {
		defer f.gate.release()
		err = f.reach(deadline)
	}
	f.stuck = errors.Is(err, safefile.ErrLocked)
	if err != nil {
		return err
	}
	defer f.leave()
	if err := f.drain(); err != nil || body == nil {
		return err
	}
	return f.write(body)
}

// drain writes the lines that wait.
func (f *File) drain() (err error) {
	n := 0
	for n < len(f.waiting.lines) {
		if err = f.write(f.waiting.lines[n].body); err != nil {
			break
		}
		n++
	}
	f.waiting.drop(n)
	return err
}

// write writes one line, into a new file where this one is full. The log is
// locked.
func (f *File) write(body []byte) error {
	for range maxTurns {
		if f.last.seq >= maxSeq {
			return fmt.Errorf("its last line has the number %d, which toolhost cannot have written: move the log away", f.last.seq)
		}
		next := f.compose(body)
		if f.size == 0 || f.opts.MaxSize < 0 || f.size+int64(len(f.line)) <= f.opts.MaxSize {
			return f.put(next)
		}
		err := f.rotate()
		if err == nil {
			err = f.reach(time.Time{})
		}
		if err != nil {
			return fmt.Errorf("a new file cannot be begun: %w", err)
		}
	}
	return errors.New("others exchange the file all the time")
}

// reach opens the file, if it is not open, and learns what it ends with. Where
// another process or a person has exchanged it, the new one is opened, and the lock
// file too, which may have gone with it. The lock file is locked.
func (f *File) reach(deadline time.Time) error {
	for range maxTurns {
		if f.at == nil {
			if err := f.open(); err != nil {
				return err
			}
		}
		share(f.at.File)
		there, size, err := identify(f.path)
		switch {
		case err == nil && there.same(f.at.id):
			if err = f.catchUp(size); err != nil {
				f.leave()
			}
			return err
		case err != nil && !isMissing(err):
			f.leave()
			return err
		}
		if err := f.retire(); err != nil {
			return err
		}
		f.gate.close()
		if err := f.gate.take(deadline); err != nil {
			return err
		}
	}
	return errors.New("others exchange the file all the time")
}

func (f *File) open() error {
	file, err := create(f.path)
	if err != nil {
		return err
	}
	id, err := identityOf(file)
	if err != nil {
		_ = file.Close()
		return err
	}
	f.at, f.size = &handle{File: file, id: id}, -1
	return nil
}

// leave ends what reach has begun: the lock that it shares.
func (f *File) leave() {
	if f.at != nil {
		_ = safefile.Unlock(f.at.File)
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

// isMissing reports whether there is no such file.
func isMissing(err error) bool { return errors.Is(err, fs.ErrNotExist) }
